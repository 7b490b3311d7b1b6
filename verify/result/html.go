package result

import (
	_ "embed"
	"fmt"
	htmltemplate "html/template"
	"io"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
)

//go:embed verify.html.tmpl
var htmlTemplate string

// WriteHTML writes the report as one page, to print or to attach to a change ticket. The page has
// the result with cluster, time and user, each rule, each finding with its fix, and the differences
// from the baseline. It has no external resources.
func (r Report) WriteHTML(w io.Writer) error {
	t, err := htmltemplate.New("verify").Funcs(htmltemplate.FuncMap{
		"time": minute, "second": second, "join": strings.Join, "short": shortened, "plural": Plural, "of": r.of,
	}).Parse(htmlTemplate)
	if err != nil {
		return err
	}
	if err := ui.Escaped(w, func(w io.Writer) error { return t.Execute(w, r) }); err != nil {
		return fmt.Errorf("write the report as HTML: %w", err)
	}
	return nil
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func second(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Ended returns the end of the run.
func (r Report) Ended() time.Time { return r.Began.Add(r.Took) }

// Verdict returns the result as a sentence.
func (r Report) Verdict() string { return r.verdict() }

// Broken returns the rules with findings that affect the result.
func (r Report) Broken() []RuleResult {
	var some []RuleResult
	for _, rule := range r.Rules {
		if rule.Outcome == Broken {
			some = append(some, rule)
		}
	}
	if len(r.of(SoakRule)) > 0 {
		some = append(some, RuleResult{ID: SoakRule, Title: "All rules stay ok for the soak window", Outcome: Broken})
	}
	return some
}
