package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airgap.dev/airgap/verify/imagebook"
	"airgap.dev/airgap/verify/result"
)

// RuleInfo is what there is to know of a rule before it is judged.
type RuleInfo struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// LooksAt are the kinds of objects that it judges; none where it asks
	// something else than the API server.
	LooksAt []string `json:"looksAt"`
	// Needs is the flag without which it is not judged, or "".
	Needs string `json:"needs,omitempty"`

	within func(scope []string) bool
}

// Within tells whether the rule can be judged by who may look at these namespaces only;
// none are the whole cluster.
func (r RuleInfo) Within(scope []string) bool { return r.within(scope) }

// Rules are all rules that may be chosen, in the order of reports, with the
// caller's probes.
func Rules(probes ...Probe) []RuleInfo {
	o := Options{ImageExists: func(context.Context, string, string) (bool, error) { return false, errors.ErrUnsupported }, Baseline: &result.Baseline{}, Since: time.Unix(1, 0)}
	needs := map[string]string{sinceID: "--since", "baseline": "--baseline compare", "restarts": "--baseline compare"}
	var asking []*probed
	for _, p := range probes {
		asking = append(asking, newProbed(p))
	}
	book := imagebook.New(o.ImageExists, nil)
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

// asked are the rules that only somebody who asks for them gets.
func asked(o Options) []rule {
	var some []rule
	if o.Baseline != nil {
		some = append(some, stillThere(o.Baseline), noRestarts(o.Baseline))
	}
	if !o.Since.IsZero() {
		some = append(some, nothingSince(o.Since))
	}
	return some
}

// asksFor tells whether a user asks for this very rule. What a baseline is compared by goes
// with the rest.
func (o Options) asksFor(id string) bool {
	return slices.Contains(o.Only, id) || id == sinceID && !o.Since.IsZero()
}

// check reports a rule that was asked for and is not among those to judge, and that there
// are none.
func (o Options) check(toJudge []rule) error {
	for _, id := range o.Only {
		if !slices.Contains(o.Skip, id) && !slices.ContainsFunc(toJudge, func(r rule) bool { return r.id == id }) {
			return fmt.Errorf("verify: there is no rule %q, or not without the option that it needs", id)
		}
	}
	if len(toJudge) == 0 {
		return errors.New("verify: no rule is left to judge")
	}
	return nil
}

// chosen leaves out what was not chosen. What a flag of its own asks for is
// chosen by that.
func (o Options) chosen(all []rule) []rule {
	byFlag := asked(o)
	return slices.DeleteFunc(all, func(r rule) bool {
		is := func(other rule) bool { return other.id == r.id }
		wanted := len(o.Only) == 0 || slices.Contains(o.Only, r.id) || slices.ContainsFunc(byFlag, is)
		return !wanted || slices.Contains(o.Skip, r.id)
	})
}
