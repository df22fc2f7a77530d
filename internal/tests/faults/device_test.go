package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/internal/tests/built"
	"github.com/campaignd/campaignd/internal/tests/draws"
	"github.com/campaignd/campaignd/internal/tests/testinstrument"
	"github.com/campaignd/campaignd/projections/campaign"
)

// deviceTrial is the result of a trial of a lab whose machines have one device together.
type deviceTrial struct {
	labVerdict
	measured int
	met      int // acts that began on the device while it was at work
	kills    int
}

// alone takes the queue of the devices away: the locks of each machine are left.
var alone = []edit{{"internal/lab/devices.go",
	"if h.options.Devices != nil || !store.InDatabase(h.address) {\n\t\treturn h.options.Devices.Campaign(name), nil",
	"if true {\n\t\treturn nil, nil"}}

// lineCampaigns are the campaigns that want the device.
const lineCampaigns = 4

// runDevice has campaigns at one real device, which its room keeps a journal of, measure so
// many experiments each, driven by workers on machines with folders of locks of their own.
// Workers are killed so many times.
func runDevice(t *testing.T, program string, capacity, experiments, kills int) deviceTrial {
	t.Helper()
	r := newLab(t, 1, program, fmt.Sprintf(
		"instruments:\n  line: {process: {command: [\"true\"]}, capacity: %d}\n", capacity))
	ctx := r.atHome()
	files := make(map[string]string)
	for i := range lineCampaigns {
		name := fmt.Sprint("line", i)
		settings := r.instrument(name, testinstrument.Options{
			Latency: definition.Duration(20 * time.Millisecond), Real: true, Room: filepath.Join(r.folder, "room"),
		})
		text := campaignText(name, "sobol", experiments, fmt.Sprintf(`{"lab": "line", "process": %s}`, settings))
		files[name] = strings.Replace(text, "experiments: 100000", fmt.Sprintf("experiments: %d", experiments), 1)
	}
	r.beginAll(ctx, files) // so that they want it at the same time
	trial := deviceTrial{}
	for ; trial.kills < kills; trial.kills++ {
		r.between(time.Second, 2*time.Second)
		if r.measured() == experiments*lineCampaigns {
			break
		}
		w := r.driver()
		r.kill(w)
		r.startProcess(w.name)
	}
	last, at := 0, time.Now()
	for trial.measured < experiments*lineCampaigns {
		time.Sleep(100 * time.Millisecond)
		if trial.measured = r.measured(); trial.measured > last {
			last, at = trial.measured, time.Now()
		}
		if time.Since(at) > goOnTime {
			t.Fatalf("after %d of %d experiments nothing goes on: %s", trial.measured, experiments*lineCampaigns,
				strings.Join(r.Primary.SQL(t, `select convert_from(said, 'UTF8') from cd_worker where until > clock_timestamp()`), "\n"))
		}
	}
	r.home()
	r.people.Wait()
	for _, work := range []bool{true, false} {
		for _, p := range r.alive(work) {
			r.drain(p)
		}
	}
	stored, acts := r.rows(), make(map[string][]labAct)
	for _, name := range r.campaigns {
		for _, act := range r.acts(name) {
			if act.command == "!" {
				trial.met++
				continue
			}
			acts[name] = append(acts[name], act)
		}
	}
	trial.labVerdict = *judgeLab(stored, acts, r.answers)
	return trial
}

// measured is how many experiments of all campaigns are.
func (r *labTrial) measured() (n int) {
	r.Helper()
	for _, rows := range r.rows() {
		if s, err := fold(rows); err == nil {
			n += s.Count(campaign.Measured)
		}
	}
	return n
}

// deviceExperiments is how many experiments all campaigns measure: 1,000 in the long run.
func deviceExperiments(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("CAMPAIGND_FAULTS_DEVICE")
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < lineCampaigns {
		t.Fatalf("CAMPAIGND_FAULTS_DEVICE=%s: it is a number of experiments", text)
	}
	return n
}

// Law: of a lab whose machines have one device together, no command begins on it while it is at
// work on another one, whichever workers are killed; each is performed once at most, and all
// campaigns come to their ends.
func TestOneDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts servers and kills them")
	}
	t.Parallel()
	program := built.Program(t)
	n := deviceExperiments(t, 80)
	for _, capacity := range []int{1, lineCampaigns} {
		if capacity > 1 && !draws.Whole() {
			continue
		}
		t.Run(fmt.Sprintf("capacity %d", capacity), func(t *testing.T) {
			trial := runDevice(t, program, capacity, n/lineCampaigns, 1+n/200)
			t.Logf("%d experiments, %d acts, %d workers killed, %d takeovers, %d fates unknown: %d acts at a device at work",
				trial.measured, trial.acts, trial.kills, trial.takeovers, trial.unknown, trial.met)
			if trial.met > 0 || !trial.sound() {
				t.Errorf("%d acts began on a device at work; %+v", trial.met, trial.labVerdict)
			}
		})
	}
}

// Law: the trial finds a device that is driven twice at once: without the queue of the lab,
// and so with the locks of each machine alone, it must be.
func TestOneDeviceControl(t *testing.T) {
	if os.Getenv("CAMPAIGND_FAULTS") == "" {
		t.Skip("it is made with the many trials: set CAMPAIGND_FAULTS")
	}
	program := product(t, alone)
	const tries = 3
	for range tries {
		trial := runDevice(t, program, 1, 160/lineCampaigns, 0)
		t.Logf("%d experiments, %d acts: %d acts at a device at work", trial.measured, trial.acts, trial.met)
		if trial.met > 0 {
			return
		}
	}
	t.Fatalf("no act began on a device at work in %d trials, which must have some: this run proves nothing", tries)
}
