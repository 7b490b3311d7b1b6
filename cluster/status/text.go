package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

// Write puts the status on one screen.
func (st *Status) Write(w io.Writer) error {
	if st.Host != "" {
		fmt.Fprintf(w, "host      %s; airgap %s\n", strings.Join(slices.DeleteFunc([]string{st.Host, st.System, st.Kernel}, func(s string) bool { return s == "" }), ", "), st.Program)
	}
	if st.Cluster != "" {
		fmt.Fprintf(w, "cluster   %s, Kubernetes %s\n", st.Cluster, st.Kubernetes)
		fmt.Fprintf(w, "node      %s, %s, %s\n", st.Node, ui.Words(st.Roles), st.Address)
	}
	if b := st.Bundle; b != nil {
		fmt.Fprintf(w, "bundle    %s of %s, %s: %d images, %d packages; in %s\n", b.Name, b.Created, ui.Size(b.Bytes), b.Images, b.Packages, st.From)
	}
	for _, b := range st.Store {
		if st.Bundle == nil || b != *st.Bundle {
			fmt.Fprintf(w, "          %s of %s, %s, in the store too\n", b.Name, b.Created, ui.Size(b.Bytes))
		}
	}
	fmt.Fprintf(w, "registry  %s\n", st.Registry)
	for _, l := range st.Lags {
		if text := behind(l); text != "" {
			fmt.Fprintf(w, "          %s\n", text)
		}
	}
	for _, d := range st.Damage {
		fmt.Fprintf(w, "          %s; to repair it: %s\n", d, d.Fix())
	}
	st.writeHealth(w)
	st.writeOwed(w)
	st.writeSteps(w)
	for _, p := range st.Problems {
		fmt.Fprintf(w, "problem   %s\n", strings.ReplaceAll(p, "\n", "\n          "))
	}
	_, err := fmt.Fprintln(w, st.conclusion())
	for _, n := range st.Next {
		_, err = fmt.Fprintf(w, "next      %s\n", n)
	}
	return err
}

// writeHealth writes the state of a node beyond its steps.
func (st *Status) writeHealth(w io.Writer) {
	if h := st.Health; h != nil {
		fmt.Fprintf(w, "health    %s\n", h.Says)
	}
	st.writeChanging(w)
	for _, c := range st.Certificates {
		label := "ends"
		when := "ends in " + c.Left(st.now)
		switch {
		case c.Span().Early(st.now):
			label, when = "begins", c.Span().Trouble(st.now, 0)
		case !c.Ends.After(st.now):
			when = "ended on " + c.Ends.Format(time.DateOnly)
		}
		fmt.Fprintf(w, "%-8s  %s, %s: %s\n", label, c.File, c.Purpose, when)
	}
	switch b := st.Backup; {
	case b != nil:
		when := ago(st.now.Sub(b.Taken)) + " ago"
		if b.Taken.After(st.now) {
			when = "from the future"
		}
		fmt.Fprintf(w, "backup    %s, %s, in %s\n", when, ui.Size(b.Bytes), b.Dir)
		if b.Key != "" {
			fmt.Fprintf(w, "signed by %s\n", b.Key)
		}
	case st.Unsaved:
		fmt.Fprintln(w, "backup    none")
	}
}

// ago is a time for people: in minutes, hours, days.
func ago(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return ui.Count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return ui.Count(int(d.Hours()), "hour")
	}
	return ui.Count(int(d.Hours()/24), "day")
}

// shown is how many of a step's changes the screen has room for.
const shown = 4

// writeSteps shows steps with problems one by one, and the others by name.
func (st *Status) writeSteps(w io.Writer) {
	groups := map[string][]string{}
	var alone []stepStatus
	for _, s := range st.Steps {
		switch s.State {
		case stepOK, stepPending, stepUndone:
			if !st.All {
				groups[s.State] = append(groups[s.State], s.Step)
				continue
			}
		}
		alone = append(alone, s)
	}
	for _, g := range []struct{ state, label string }{{stepOK, "ok"}, {stepPending, "to run"}, {stepUndone, "undone"}} {
		if names := groups[g.state]; len(names) > 0 {
			fmt.Fprintf(w, "%-8s  %s\n", g.label, wrap(names, 78, "          "))
		}
	}
	if len(alone) > 0 {
		fmt.Fprintln(w)
	}
	for _, s := range alone {
		ran := "-"
		if !s.Ran.IsZero() {
			ran = s.Ran.Local().Format("2006-01-02 15:04:05")
		}
		fmt.Fprintf(w, "  %-11s  %-19s  %-16s %s\n", s.State, ran, s.Step, s.Title)
		changes := s.Changes
		if s.State == stepPending || s.State == stepUndone {
			changes = nil // the rest of an installation would fill the screen
		}
		for _, c := range changes[:min(len(changes), shown)] {
			fmt.Fprintf(w, "  %50s %s\n", "", c)
		}
		if more := len(changes) - shown; more > 0 {
			fmt.Fprintf(w, "  %50s and %d more\n", "", more)
		}
		if s.Error != "" {
			line, _, _ := strings.Cut(s.Error, "\n")
			fmt.Fprintf(w, "  %50s %s\n", "", line)
		}
	}
	fmt.Fprintln(w)
}

// wrap puts words into lines of some columns, each begun by an indentation; the first
// one has room for it already.
func wrap(words []string, columns int, indent string) string {
	var b strings.Builder
	at := len(indent)
	for i, word := range words {
		if i < len(words)-1 {
			word += ","
		}
		if i > 0 && at+1+len(word) > columns {
			b.WriteString("\n" + indent)
			at = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}

// conclusion returns the overall state and the next action in one line.
func (st *Status) conclusion() string {
	again := "run the same command again"
	if st.command != "" {
		again = "run the same airgap " + st.command + " again"
	}
	if st.copied != "" {
		again += " (without the stick: airgap " + st.command + " " + st.copied + ")"
	}
	count := map[string]int{}
	for _, s := range st.Steps {
		count[s.State]++
	}
	switch {
	case len(st.Steps) == 0:
		return "nothing was installed on this host by airgap"
	case st.Busy:
		return "an airgap command is changing this host right now"
	case st.Interrupted != "":
		return "interrupted in step " + st.Interrupted + "; " + again
	case count[stepFailed]+count[stepInterrupted] > 0:
		return "not finished; fix the failed steps and " + again
	case len(st.Drifted) > 0:
		return "drifted: " + strings.Join(st.Drifted, ", ") + "; " + again + " to put it right"
	case count[stepPending] > 0 && count[stepPending] < len(st.Steps):
		return fmt.Sprintf("not finished: %d steps have not run; %s", count[stepPending], again)
	case count[stepUndone] > 0:
		return "partly undone; run airgap reset again"
	case count[stepUnknown] > 0:
		return fmt.Sprintf("%d steps have an unknown state", count[stepUnknown])
	default:
		return fmt.Sprintf("all %d steps are up to date", len(st.Steps))
	}
}

// behind is "" for a registry that has all that the other one has.
func behind(l registry.Lag) string {
	switch {
	case l.Behind > 0:
		text := fmt.Sprintf("%s behind %s since %s", ui.Count(l.Behind, "change"), l.Peer, l.Since.Format(time.DateTime))
		if l.Error != "" {
			text += ": " + l.Error
		}
		return text
	case l.Error != "":
		return fmt.Sprintf("cannot follow %s: %s", l.Peer, l.Error)
	}
	return ""
}
