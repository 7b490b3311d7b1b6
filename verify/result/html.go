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

// WriteHTML writes the report as one page to be printed or put into a change
// ticket: the verdict on which cluster, when and by whom; every rule; what is
// broken, since when and what to do; what differs from the baseline. The page
// needs nothing but itself.
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

// Ended is when the verdict was given.
func (r Report) Ended() time.Time { return r.Began.Add(r.Took) }

// Verdict says in a sentence how things stand.
func (r Report) Verdict() string { return r.verdict() }

// Broken are the rules with findings that decide.
func (r Report) Broken() []RuleResult {
	var some []RuleResult
	for _, rule := range r.Rules {
		if rule.Outcome == Broken {
			some = append(some, rule)
		}
	}
	if len(r.of(Soaking)) > 0 {
		some = append(some, RuleResult{ID: Soaking, Title: "Everything holds through the soak window", Outcome: Broken})
	}
	return some
}
