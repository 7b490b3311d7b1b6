package verification

import (
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/verify"
)

// noSuchRule suggests the nearest rule.
func noSuchRule(id string, all []verify.RuleInfo) error {
	return advice.Usagef("airgap verify: there is no rule %q%s (airgap verify --list has all)", id, advice.DidYouMean(id, ruleIDs(all)))
}

func ruleIDs(all []verify.RuleInfo) []string {
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}
