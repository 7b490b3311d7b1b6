package result

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/internal/ui"
)

// WriteJUnit writes the report as a JUnit test suite with one test case for each rule. A broken
// rule is a failure, and an unseen one is an error. A rule that does not apply is skipped. A rule
// that is broken as in the baseline passes, with this reason as its output.
func (r Report) WriteJUnit(w io.Writer) error {
	suite := ui.Suite{Name: "airgap verify", Timestamp: ui.Timestamp(r.Began), Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	for _, rule := range r.Rules {
		suite.Add(r.junit(rule))
	}
	if late := r.of(SoakRule); len(late) > 0 {
		suite.Add(r.junit(RuleResult{ID: SoakRule, Outcome: Broken}))
	}
	if r.Baseline != nil {
		var b strings.Builder
		r.Baseline.write(&b)
		suite.Output = b.String()
	}
	return ui.WriteJUnit(w, suite)
}

func (r Report) junit(rule RuleResult) ui.Case {
	c := ui.Case{Class: "airgap.verify", Name: rule.ID}
	switch rule.Outcome {
	case Broken:
		findings := r.of(rule.ID)
		var b strings.Builder
		for _, f := range findings {
			f.write(&b, r.Began)
		}
		c.Failure = &ui.Problem{Message: findings[0].Object + ": " + findings[0].Saw, Text: b.String()}
	case Known:
		c.Output = "broken as in the baseline"
	case Unseen:
		c.Error = &ui.Problem{Message: "the rule could not be judged: " + cmp.Or(rule.Why, NoAnswer), Text: rule.Fix}
	case LeftOut:
		c.Skipped = &ui.Problem{Message: cmp.Or(rule.Why, "the rule does not apply to this cluster")}
	}
	return c
}
