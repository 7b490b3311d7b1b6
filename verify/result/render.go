package result

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// WriteText writes the report as text.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	shown := map[string]bool{"": true} // many rules may have the same fix
	for _, rule := range r.Rules {
		fmt.Fprintf(&b, "%-7s %s\n", rule.Outcome, rule.titleAndWhy())
		if !shown[rule.Fix] {
			fmt.Fprintf(&b, "          fix:  %s\n", OneLine(rule.Fix))
			shown[rule.Fix] = true
		}
		for _, f := range r.of(rule.ID) {
			f.write(&b, r.Began)
		}
	}
	for _, f := range r.of(SoakRule) {
		f.write(&b, r.Began)
	}
	if r.Baseline != nil {
		r.Baseline.write(&b)
	}
	for _, note := range r.About.Notes {
		fmt.Fprintf(&b, "note    %s\n", OneLine(note))
	}
	c := r.Counts
	fmt.Fprintf(&b, "\n%s after %s: %s, %s, %s, %s\n", r.verdict(), r.Took.Round(100*time.Millisecond),
		Plural(c.Nodes, "node"), Plural(c.Pods, "pod"), Plural(c.Workloads, "workload"), Plural(c.Images, "image"))
	_, err := io.WriteString(w, b.String())
	return err
}

// titleAndWhy returns the rule's title, with the reason if it was not judged.
func (r RuleResult) titleAndWhy() string {
	if r.Why == "" {
		return r.Title
	}
	return r.Title + " (" + OneLine(r.Why) + ")"
}

func (r Report) verdict() string {
	unseen := len(r.Unseen())
	switch {
	case r.OK:
		return "The cluster is healthy"
	case unseen == 0:
		return "The cluster is not healthy (" + Plural(len(r.Findings), "finding") + ")"
	case len(r.Findings) == 0:
		return "It is unknown if the cluster is healthy (" + Plural(unseen, "rule") + " unseen)"
	}
	return fmt.Sprintf("The cluster is not healthy (%s, %s unseen)", Plural(len(r.Findings), "finding"), Plural(unseen, "rule"))
}

// Plural returns, for example, "1 node" or "2 nodes".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (r Report) of(rule string) []Finding {
	var of []Finding
	for _, f := range r.Findings {
		if f.Rule == rule {
			of = append(of, f)
		}
	}
	return of
}

func (f Finding) write(b *strings.Builder, began time.Time) {
	fmt.Fprintf(b, "        %s: %s\n", OneLine(f.Object), OneLine(f.Saw))
	fmt.Fprintf(b, "          want: %s, broken since %s\n", OneLine(f.Want), clock(f.Since, began))
	if f.Fix != "" {
		fmt.Fprintf(b, "          fix:  %s\n", OneLine(f.Fix))
	}
}

// clock omits the date of a time in the last 12 hours.
func clock(t, began time.Time) string {
	if began.Sub(t) > 12*time.Hour {
		return t.Format(time.DateTime)
	}
	return t.Format(time.TimeOnly)
}

func (c *Comparison) write(b *strings.Builder) {
	fmt.Fprintf(b, "\nCompared with the baseline of %s:\n", c.Taken.UTC().Format("2006-01-02 15:04 UTC"))
	for _, f := range c.Known {
		fmt.Fprintf(b, "known   %s: %s\n", OneLine(f.Object), OneLine(f.Saw))
	}
	for _, d := range c.Changed {
		fmt.Fprintf(b, "changed %s: %s\n", OneLine(d.String()), OneLine(Abbreviate(d.Objects)))
	}
	if len(c.Known) == 0 && len(c.Changed) == 0 {
		fmt.Fprintln(b, "        no finding is in the baseline, and nothing changed")
	}
}

// String returns the change: "kubelet v1.35.4 → v1.36.3".
func (d Difference) String() string {
	if d.Now == isNew {
		return isNew + " " + d.What
	}
	return d.What + " " + cmp.Or(shortened(d.Before), "none") + " → " + cmp.Or(shortened(d.Now), "none")
}

var digests = regexp.MustCompile(`(@sha256:[0-9a-f]{12})[0-9a-f]+`)

// shortened keeps the first 12 digits of digests.
func shortened(text string) string { return digests.ReplaceAllString(text, "$1") }

// OneLine converts text from containers and kubelets to one line of printable characters. Such
// text must not move the cursor of a terminal or look like a line of airgap.
func OneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)), " ")
}

// Abbreviate lists at most three names and the number of the others.
func Abbreviate(names []string) string {
	if len(names) <= 3 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
}
