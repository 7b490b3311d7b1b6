package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/rehearsal"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/internal/ui"
)

// Formats of results on stdout.
const (
	asText  = "text"
	asJSON  = "json"
	asYAML  = "yaml"
	asJUnit = "junit"
	asHTML  = "html"
)

const formatsKey = "formats" // in a command's annotations

// gives notes the formats that a command has, where they are not the usual.
func gives(cmd *cobra.Command, formats ...string) *cobra.Command {
	cmd.Annotations = map[string]string{formatsKey: strings.Join(formats, " ")}
	return cmd
}

func formatsOf(cmd *cobra.Command) []string {
	if formats, unusual := cmd.Annotations[formatsKey]; unusual {
		return strings.Fields(formats)
	}
	return []string{asText, asJSON, asYAML}
}

// results is stdout. Progress ends before the first byte of a result, for bars
// that are drawn again would erase it. The first error is kept and reported at
// the end: a result that is cut short must not look like a whole one.
type results struct {
	w     *ui.Escaper
	begin func()
	err   error
}

func (r *results) Write(p []byte) (int, error) {
	r.begin()
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.w.Write(p)
	r.err = err
	return n, err
}

// end is the first error of a result.
func (r *results) end() error {
	if err := r.w.Flush(); r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return fmt.Errorf("write the result: %w", r.err)
	}
	return nil
}

// print writes a result in the format asked for; text writes the human form,
// which stands for the formats that only reports have.
func (a *app) print(v any, text func(io.Writer) error) error {
	switch a.output {
	case asJSON:
		return output.JSON(a.stdout, v)
	case asYAML:
		return output.YAML(a.stdout, output.FullLists(v))
	default:
		return text(a.stdout)
	}
}

// forms write a report in the formats that its kind has; nil for none.
type forms struct{ text, junit, html func(io.Writer) error }

// printReport is print for results that have more forms than a text.
func (a *app) printReport(v any, f forms) error {
	switch {
	case a.output == asJUnit && f.junit != nil:
		return f.junit(a.stdout)
	case a.output == asHTML && f.html != nil:
		return f.html(a.stdout)
	default:
		return a.print(v, f.text)
	}
}

// worded is a result with its text for people.
type worded interface{ Write(w io.Writer) error }

// finish prints the result of a call, unless there is an error.
func (a *app) finish(r worded, err error) error {
	if err != nil {
		return err
	}
	return a.print(r, r.Write)
}

// finishPart prints what a call has done, if it came to do anything, also where it failed then.
func (a *app) finishPart(r worded, began bool, err error) error {
	if !began {
		return err
	}
	return errors.Join(a.print(r, r.Write), err)
}

// say writes a line for the journal of the unit that runs the command.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

// agree shows what is about to be done, and wants a yes.
func (a *app) agree(ctx context.Context, plan worded) error {
	return errors.Join(plan.Write(a.stderr), ui.Confirm(ctx, a.terminal(), "Type yes to go on: "))
}

// showDryRun prints the result and turns failed checks into exit code 3.
func (a *app) showDryRun(d rehearsal.Plan, err error) error {
	if err == nil {
		err = a.print(d, d.Write)
	}
	if err != nil {
		return err
	}
	if !d.Preflight.Passed() {
		return advice.Add(&coded{exitcode.Preflight, errShown}, "nothing was changed; as long as these checks fail, nothing will be")
	}
	return nil
}

// noReport refuses the formats of reports where a command, with the flags that
// it was given, makes none.
func (a *app) noReport(command string) error {
	if a.output == asJUnit || a.output == asHTML {
		return advice.Usagef("%s: --output %s is for reports, and this gives none", command, a.output)
	}
	return nil
}

// oneOf checks the value of a flag that takes one of a few words.
func oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return advice.Usagef("--%s %q: want one of %v", flag, value, words)
}
