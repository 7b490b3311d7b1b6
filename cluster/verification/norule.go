package verification

import (
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/verify"
)

// noSuchRule names the rules that may have been meant.
func noSuchRule(id string, all []verify.RuleInfo) error {
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return advice.Usagef("airgap verify: there is no rule %q%s (airgap verify --list has all)", id, advice.DidYouMean(id, ids))
}
