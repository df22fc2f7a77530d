package campaignfile

import (
	"fmt"
	"strings"

	"github.com/campaignd/campaignd/events"
)

// Remarks says what is odd about a completed definition that is valid: what it
// says is possible, and probably not what is meant.
func Remarks(def events.Definition) (remarks []string) {
	if def.Policy.Duel.Set() {
		if initial := *def.Initial.Comparisons * len(def.Experts); initial > 0 && initial >= def.Budget.Comparisons {
			remarks = append(remarks, fmt.Sprintf("all of the %s are initial ones, so that the policy makes no choice of its own: raise budget.comparisons, or lower initial.comparisons (%d for each expert)",
				plural(def.Budget.Comparisons, "comparison"), *def.Initial.Comparisons))
		}
		return remarks
	}
	if !readsExperts(def.Policy) && len(def.Experts) > 0 {
		names := make([]string, len(def.Experts))
		for i, e := range def.Experts {
			names[i] = e.Name
		}
		remarks = append(remarks, fmt.Sprintf("the policy reads nothing of what %s may say: choose one that does, such as cobol or coexbo, or remove experts", strings.Join(names, " and ")))
	}
	return remarks
}

// readsExperts says whether any part of a policy that measures asks experts, or
// reads what they said.
func readsExperts(p events.Policy) bool {
	return p.Trust.None == nil || p.Handover.Never == nil || p.Next.Prior != nil || p.Next.Manual != nil
}
