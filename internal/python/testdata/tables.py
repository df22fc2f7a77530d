"""What holds of tables and charts, with pandas and matplotlib; python_test.go runs it."""

import tempfile
import unittest

import campaignd
import numpy as np
import pandas as pd
from campaignd import Maximize, Minimize, Number, TableRefused, Tradeoff

SEVERAL = dict(
    name="several",
    parameters=[Number("salt", 0, 1, unit="mol/L"), Number("ec", 0, 50, unit="wt%")],
    quantities=[
        {"name": "conductivity", "unit": "mS/cm"},
        {"name": "viscosity", "unit": "mPa·s"},
        {"name": "price", "from": "30*salt + 1.5*ec"},
    ],
    objective=Tradeoff(Maximize("conductivity"), Minimize("viscosity")),
    constraints_on_outcomes=["viscosity <= 5"],
    initial={"experiments": 4},
    budget={"experiments": 8},
    parallel=4,
    instrument="manual",
)
ONE = SEVERAL | dict(
    name="one",
    quantities=None,
    constraints_on_outcomes=None,
    objective=Maximize("conductivity", unit="mS/cm"),
)


def outcomes(campaign):
    """What was told so far; a campaign goes on asking meanwhile."""
    kinds = ("measured", "failed", "infeasible", "arrived", "corrected")
    return [e["id"] for e in campaign.events() if e["type"].rpartition(".")[2] in kinds]


class Tables(unittest.TestCase):
    def begin(self, **keys):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.lab = campaignd.local(folder.name)
        self.addCleanup(self.lab.close)
        return self.lab.begin(**keys)

    def refused(self, campaign, table, *words):
        before = outcomes(campaign)
        with self.assertRaises(TableRefused) as refused:
            campaign.tell(table)
        for word in words:
            self.assertIn(word, str(refused.exception))
        self.assertEqual(outcomes(campaign), before, "something was recorded")

    def test_suggestions_are_a_table_in_the_order_of_the_file(self):
        table = self.begin(**SEVERAL).ask(4).frame()
        self.assertEqual(table.columns.to_list(), ["salt", "ec"])
        self.assertEqual(table.index.to_list(), ["e1", "e2", "e3", "e4"])
        self.assertEqual(table.index.name, "experiment")

    def test_an_empty_cell_is_missing_and_never_zero(self):
        c = self.begin(**SEVERAL)
        table = c.ask(4).frame()
        table["conductivity"] = [9.5, np.nan, None, 7]
        table["viscosity"] = ["3,1", 2, "", float("nan")]
        told = c.tell(table)
        self.assertEqual(told.open, ["e3"])
        rows = c.frame()
        self.assertEqual(rows.loc["e1", "viscosity"], 3.1)
        self.assertEqual(rows["status"].to_list(), ["measured", "measured", "started", "measured"])
        self.assertTrue(
            np.isnan(rows.loc["e2", "conductivity"]) and np.isnan(rows.loc["e4", "viscosity"])
        )

    def test_the_same_table_again_records_nothing(self):
        c = self.begin(**SEVERAL)
        table = c.ask(4).frame().assign(conductivity=[9.5, 8, 7, 6], viscosity=[3, 2, 4, 1.5])
        self.assertEqual(len(c.tell(table)), 4)
        n = outcomes(c)
        again = c.tell(table)
        self.assertEqual((list(again), again.known), ([], ["e1", "e2", "e3", "e4"]))
        self.assertEqual(outcomes(c), n)
        self.refused(
            c, table.assign(viscosity=[3, 2, 4, 9]), "row 4, column viscosity", 'correct("e4"'
        )

    def test_what_is_wrong_is_named_by_row_and_column_and_nothing_is_told(self):
        c = self.begin(**SEVERAL)
        good = c.ask(4).frame().assign(conductivity=[9.5, 8, 7, 6], viscosity=[3, 2, 4, 1.5])
        self.refused(
            c,
            good.rename(columns={"viscosity": "viscosty"}),
            '"viscosty"',
            'did you mean "viscosity"',
        )
        self.refused(
            c, good.assign(viscosity=[3, "about 2", 4, 1.5]), 'row 2, column viscosity: "about 2"'
        )
        self.refused(c, good.assign(viscosity=[3, 2, "1,234", 1.5]), "row 3, column viscosity")
        self.refused(c, good.assign(viscosity=[3, 2, 4, np.inf]), "row 4, column viscosity")
        self.refused(c, good.reset_index(drop=True), 'no column "experiment"')
        self.refused(
            c, good.rename(index={"e2": "e9"}), "row 2, column experiment: the campaign has no e9"
        )
        self.refused(
            c,
            good.reset_index().replace("e2", "e9"),
            "row 2, column experiment: the campaign has no e9",
        )
        self.refused(c, pd.concat([good, good]), "row 5, e1 is in row 1, too")
        given = good.rename_axis(None)
        table = given.rename(index={"e2": "e9"})
        self.refused(c, table, "row 2, column experiment: the campaign has no e9")
        self.assertIsNone(table.index.name, "the table was changed")
        self.refused(
            c, good.set_axis(["e2", "e1", "e3", "e4"]), "row 1, column salt", "salt_actual"
        )
        self.refused(c, good.assign(price=[1, 2, 3, 4]), '"price"')
        self.refused(c, good[["salt", "ec"]], "no column has a result")
        self.refused(
            c,
            good.assign(infeasible=["it does not dissolve", "", "", ""]),
            "row 1, columns infeasible",
        )
        self.refused(
            c,
            good.assign(sd_viscosity=0.1, viscosity=[3, np.nan, 4, 1]),
            "row 2, column sd_viscosity",
        )
        self.refused(c, good.assign(failed=[True, False, False, False]), "row 1, column failed")

    def test_plain_sd_is_that_of_the_objective_alone(self):
        c = self.begin(**SEVERAL)
        c.tell(c.ask(1).frame().assign(conductivity=9.5, viscosity=2, sd=0.1))
        row = c.frame().loc["e1"]
        self.assertEqual(row["sd"], 0.1)
        self.assertTrue(pd.isna(row["sd_viscosity"]))

    def test_what_the_campaign_says_of_itself_can_be_filled_in(self):
        c = self.begin(**ONE)
        c.ask(4)
        whole = c.frame()
        whole.loc[["e1", "e3"], "conductivity"] = [1.5, 2.5]
        told = c.tell(whole)
        self.assertEqual((len(told), told.open), (2, ["e2", "e4"]))

    def test_failures_sds_and_what_was_really_made(self):
        c = self.begin(**SEVERAL)
        table = (
            c.ask(4)
            .frame()
            .assign(
                conductivity=[9.5, 8, np.nan, 6],
                sd_conductivity=[0.1, np.nan, np.nan, 0.2],
                viscosity=2,
                failed=[None, None, "the cell leaked", None],
                salt_actual=[0.5, np.nan, np.nan, np.nan],
                further_ph=[7, 6, 5, None],
            )
        )
        asked = table["ec"]
        c.tell(table)
        rows = c.frame()
        self.assertEqual(rows.loc["e3", "status"], "failed")
        self.assertEqual(
            (rows.loc["e1", "salt_actual"], rows.loc["e1", "ec_actual"]), (0.5, asked["e1"])
        )
        self.assertEqual(rows.loc["e1", "sd"], 0.1)
        self.assertTrue(np.isnan(rows.loc["e2", "sd"]))
        self.assertEqual(rows.loc["e2", "further_ph"], 6)

    def test_one_value_is_told_with_its_sd_and_unit(self):
        c = self.begin(**ONE)
        c.tell(c.ask(2).frame().assign(conductivity=[1.5, 2], sd=[0.1, None], unit="mS/cm"))
        self.assertEqual(c.frame().loc["e1", ["conductivity", "sd"]].to_list(), [1.5, 0.1])
        before = outcomes(c)
        units = ["mS/cm", "S/m"]
        with self.assertRaisesRegex(campaignd.Problem, "row 2: .*in S/m"):
            c.tell(c.ask(2).frame().assign(conductivity=1.5, unit=units))
        self.assertEqual(outcomes(c), before, "a part of the table was recorded")

    def test_predictions_stand_behind_the_columns_of_the_table(self):
        c = self.begin(**SEVERAL)
        while batch := c.ask(4):
            c.tell(batch.frame().eval("conductivity = 5 + salt\nviscosity = 1 + ec/10"))
        grid = pd.DataFrame({"ec": [1, 2.5], "who": ["a", "b"], "salt": ["0,1", 0.2]}, index=[7, 8])
        out = c.predict(grid)
        self.assertEqual(
            out.columns.to_list()[:7],
            [
                "ec",
                "who",
                "salt",
                "conductivity_mean",
                "conductivity_sd",
                "viscosity_mean",
                "viscosity_sd",
            ],
        )
        self.assertEqual(out.index.to_list(), [7, 8])
        by_hand = c.predict([{"salt": 0.1, "ec": 1}, {"salt": 0.2, "ec": 2.5}])
        self.assertEqual(
            out["viscosity_mean"].to_list(), [p["quantities"][1]["mean"] for p in by_hand]
        )
        self.assertEqual(out["viscosity_sd"].to_list(), [p["quantities"][1]["sd"] for p in by_hand])
        self.assertEqual(out["feasible"].to_list(), [p["feasible"]["probability"] for p in by_hand])
        with self.assertRaisesRegex(TableRefused, "row 1, column salt"):
            c.predict(grid.assign(salt=[np.nan, 1]))
        with self.assertRaisesRegex(TableRefused, '"ec" is missing'):
            c.predict(grid[["salt"]])
        front = c.front()
        self.assertEqual(front.columns.to_list()[:2], ["salt", "ec"])
        self.assertTrue(set(front.index) <= set(c.frame().index))

    def test_charts_show_what_the_api_says(self):
        c = self.begin(**SEVERAL)
        while batch := c.ask(4):
            c.tell(batch.frame().eval("conductivity = 5 + salt\nviscosity = 1 + ec/10"))
        course = c.plot.course().axes
        self.assertEqual(
            [a.get_ylabel() for a in course], ["conductivity (mS/cm)", "viscosity (mPa·s)", "price"]
        )
        frame = c.frame()
        drawn = frame[frame["keeps_constraints"] != "no"]["conductivity"]
        self.assertEqual(course[0].lines[0].get_ydata().tolist(), drawn.to_list())
        slices = c.plot.slices(points=5).axes
        drawn = slices[0].lines[0]
        at = c.status()["tradeoff"]["compromise"]["parameters"]
        said = c.predict([at | {"salt": x} for x in drawn.get_xdata()])
        self.assertEqual(list(drawn.get_ydata()), [p["quantities"][0]["mean"] for p in said])
        labels = c.plot.front().axes[0].texts
        self.assertEqual({t.get_text() for t in labels}, set(c.front().index))
        self.assertEqual(
            c.plot.map("salt", "ec", "viscosity").axes[1].get_ylabel(), "viscosity (mPa·s)"
        )
        self.assertEqual(len(c.plot.importance().axes[0].patches), 2)
        self.assertTrue(c.plot.calibration().axes)
        with self.assertRaisesRegex(ValueError, "none of the numeric parameters: salt, ec"):
            c.plot.map("salt", "acid")
        with self.assertRaisesRegex(ValueError, "seeks one value"):
            self.lab.begin(**ONE).plot.front()

    def test_the_best_so_far_keeps_the_constraints_in_charts_and_card(self):
        bounded = ONE | {
            "name": "bounded",
            "quantities": [{"name": "y"}, {"name": "z"}],
            "objective": {"maximize": "y"},
            "constraints_on_outcomes": ["z <= 5"],
            "budget": {"experiments": 9},
            "parallel": 1,
        }
        c = self.begin(**bounded)
        for y, z in ((9, 8), (3, 4), (7, 6), (5, 5)):
            c.tell(c.ask(1).frame().assign(y=y, z=z))
        # The next experiment may have been asked for by now; the line goes on over it.
        lines = {line.get_label(): line for line in c.plot.course().axes[0].lines}
        self.assertEqual(list(lines["best so far"].get_xdata())[:3], [2, 3, 4])
        self.assertEqual(list(lines["best so far"].get_ydata())[:3], [3, 3, 5])
        card = c._repr_html_()
        self.assertIn("of what keeps the constraints", card)
        self.assertEqual(card.count('fill="none" stroke="currentColor" opacity'), 2)


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("Agg")
    unittest.main(verbosity=1)
