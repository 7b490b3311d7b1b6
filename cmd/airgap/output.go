package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/verification"
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

const formatsKey = "formats" // annotation of a command

// withFormats records the formats of a command that has other formats than the default.
func withFormats(cmd *cobra.Command, formats ...string) *cobra.Command {
	cmd.Annotations = map[string]string{formatsKey: strings.Join(formats, " ")}
	return cmd
}

func formatsOf(cmd *cobra.Command) []string {
	if formats, set := cmd.Annotations[formatsKey]; set {
		return strings.Fields(formats)
	}
	return []string{asText, asJSON, asYAML}
}

// results is stdout. The progress ends before the first byte of a result, because redrawn
// progress bars would erase the result. results keeps the first error until the end, so that
// the command fails when its result is truncated.
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

// end flushes the result and returns its first error.
func (r *results) end() error {
	if err := r.w.Flush(); r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return fmt.Errorf("write the result: %w", r.err)
	}
	return nil
}

// print writes a result in the format of --output. text writes the human-readable form, which
// also replaces the formats that only reports have.
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

// reportWriters write a report in the formats that only reports have, and as text. A nil
// function means that the report does not have the format.
type reportWriters struct{ text, junit, html func(io.Writer) error }

// printReport is print for results with more formats.
func (a *app) printReport(v any, w reportWriters) error {
	switch {
	case a.output == asJUnit && w.junit != nil:
		return w.junit(a.stdout)
	case a.output == asHTML && w.html != nil:
		return w.html(a.stdout)
	default:
		return a.print(v, w.text)
	}
}

// textWriter is a result with a human-readable form.
type textWriter interface{ Write(w io.Writer) error }

// finish prints the result of a call, or returns its error.
func (a *app) finish(r textWriter, err error) error {
	if err != nil {
		return err
	}
	return a.print(r, r.Write)
}

// finishPart also prints the result of a failed call if the call began to change something.
func (a *app) finishPart(r textWriter, began bool, err error) error {
	if !began {
		return err
	}
	return errors.Join(a.print(r, r.Write), err)
}

// finishVerified is finishPart for a call that ends with a verification. As text, the report of a failed one follows the
// result. JSON and YAML have it in the result, and the formats of reports have the report alone.
func (a *app) finishVerified(r textWriter, began bool, err error) error {
	switch {
	case !began || verification.ReportIn(err) == nil || a.output == asText:
		return a.finishPart(r, began, err)
	case a.output == asJSON || a.output == asYAML:
		return errors.Join(a.print(r, r.Write), advice.Replace(&exitError{codeOf(err), errPrinted}, "%s", advice.Of(err)))
	}
	return err
}

// say writes one line to stderr, which is the journal when a unit runs the command.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }

// confirm shows the plan and asks the user to type yes.
func (a *app) confirm(ctx context.Context, plan textWriter) error {
	return errors.Join(plan.Write(a.stderr), ui.Confirm(ctx, a.terminal(), "Type yes to continue: "))
}

// confirmAs is confirm with another text than yes, for plans that no habit should confirm.
func (a *app) confirmAs(ctx context.Context, plan textWriter, text string) error {
	return errors.Join(plan.Write(a.stderr), ui.ConfirmAs(ctx, a.terminal(), "Type "+text+" to continue: ", text))
}

// showDryRun prints the plan. If a preflight check failed, the exit code is 3.
func (a *app) showDryRun(d dryrun.Plan, err error) error {
	if err == nil {
		err = a.print(d, d.Write)
	}
	if err != nil {
		return err
	}
	if !d.Passed() {
		return advice.Add(&exitError{exitcode.Preflight, errPrinted}, "fix the failed checks, then run the same command again; nothing was changed")
	}
	return nil
}

// refuseReportFormat refuses junit and html for a command, with its flags, that prints no report.
func (a *app) refuseReportFormat(command string) error {
	if a.output == asJUnit || a.output == asHTML {
		return advice.Usagef("%s: --output %s is only for reports", command, a.output)
	}
	return nil
}

// oneOf checks the value of a flag with a fixed set of values.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return advice.Usagef("--%s %q: expected one of %s%s", flag, value, strings.Join(allowed, ", "), advice.DidYouMean(value, allowed))
}
