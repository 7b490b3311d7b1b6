package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/verify/imagecache"
	"airgap.dev/airgap/verify/result"
)

// RuleInfo describes a rule before it is evaluated.
type RuleInfo struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// LooksAt are the kinds of objects that it reads; none if it does not read from the API server.
	LooksAt []string `json:"looksAt"`
	// Needs is the flag that enables the rule, or "".
	Needs string `json:"needs,omitempty"`

	within func(scope []string) bool
}

// Within reports whether read access to these namespaces is enough to evaluate the rule. No
// namespaces mean the whole cluster.
func (r RuleInfo) Within(scope []string) bool { return r.within(scope) }

// Rules returns all rules that a user may choose, in the order of the report, with the probes
// of the caller.
func Rules(probes ...Probe) []RuleInfo {
	o := Options{ImageExists: func(context.Context, string, string) (bool, error) { return false, errors.ErrUnsupported }, Baseline: &result.Baseline{}, Since: time.Unix(1, 0)}
	needs := map[string]string{sinceID: "--since", "baseline": "--baseline compare", "restarts": "--baseline compare"}
	var asking []*probed
	for _, p := range probes {
		asking = append(asking, newProbed(p))
	}
	book := imagecache.New(o.ImageExists, nil)
	defer book.Close()
	var all []RuleInfo
	for _, r := range rules(o, book, asking) {
		info := RuleInfo{ID: r.id, Title: r.title, LooksAt: []string{}, Needs: needs[r.id], within: r.within}
		for _, k := range r.kinds() {
			info.LooksAt = append(info.LooksAt, string(k))
		}
		all = append(all, info)
	}
	return all
}

// asked returns the rules that only a separate flag enables.
func asked(o Options) []rule {
	var some []rule
	if o.Baseline != nil {
		some = append(some, baselineExists(o.Baseline), noRestarts(o.Baseline))
	}
	if !o.Since.IsZero() {
		some = append(some, nothingSince(o.Since))
	}
	return some
}

// asksFor reports whether the user chose this rule by name. The rules of a baseline do not
// count as chosen.
func (o Options) asksFor(id string) bool {
	return slices.Contains(o.Only, id) || id == sinceID && !o.Since.IsZero()
}

// check returns an error if o.Only has a rule that is not in toJudge, or if toJudge is empty.
func (o Options) check(toJudge []rule) error {
	for _, id := range o.Only {
		if !slices.Contains(o.Skip, id) && !slices.ContainsFunc(toJudge, func(r rule) bool { return r.id == id }) {
			return fmt.Errorf("verify: rule %q does not exist, or it needs an option that is not given", id)
		}
	}
	if len(toJudge) == 0 {
		return errors.New("verify: no rule is left to evaluate")
	}
	return nil
}

// chosen returns the rules that the options choose. A flag that enables rules also chooses them.
func (o Options) chosen(all []rule) []rule {
	byFlag := asked(o)
	return slices.DeleteFunc(all, func(r rule) bool {
		is := func(other rule) bool { return other.id == r.id }
		wanted := len(o.Only) == 0 || slices.Contains(o.Only, r.id) || slices.ContainsFunc(byFlag, is)
		return !wanted || slices.Contains(o.Skip, r.id)
	})
}
