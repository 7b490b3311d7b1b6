package verification

import (
	"slices"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify"
)

// SplitSkip tells the preflight checks among the ids to leave out from verify's rules.
// One that both have is both.
func SplitSkip(ids []string) (checks, rules []string, err error) {
	all := verify.Rules(Probes()...)
	for _, id := range ids {
		_, noCheck := preflight.Lookup(id)
		isRule := slices.ContainsFunc(all, func(r verify.RuleInfo) bool { return r.ID == id })
		if noCheck != nil && !isRule {
			return nil, nil, advice.Usagef("--skip %s: there is no such check, and no such rule%s (airgap preflight --list and airgap verify --list have all)", id, advice.DidYouMean(id, append(preflight.IDs(), ruleIDs(all)...)))
		}
		if noCheck == nil {
			checks = append(checks, id)
		}
		if isRule {
			rules = append(rules, id)
		}
	}
	return checks, rules, nil
}
