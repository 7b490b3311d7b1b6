package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight"
)

func (a *app) survey() *cobra.Command {
	var out, from string
	var script bool
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Write down the facts of this server, for the bundle",
		Long: `Reads what this server is: OS, kernel, installed packages, cgroups, network,
disks, PCI devices, cards by a driver that is there. Nothing is changed, and most of
it needs no root; what could not be read is listed under "unknown".

Carry the file to the connected host: airgap bundle --facts DIR then bundles
exactly what this server lacks. --file makes the directory; a file of before is not
written over.

Where no program may run before it was approved, --script prints the same
survey as a shell script of 150 lines. What it writes is read by --facts too,
from NAME.survey or, packed, NAME.survey.gz; --from shows it as facts.`,
		Example: `  airgap survey --file /media/stick/facts/$(hostname).facts.yaml
  airgap survey --script >survey.sh                              anywhere
  sh survey.sh | gzip >/media/stick/facts/$(hostname).survey.gz  on the server`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out != "" && a.output != asText {
				return advice.Usagef("airgap survey: --file is always written as YAML; leave --output away")
			}
			if script {
				return a.surveyScript(out)
			}
			facts, err := gather(cmd.Context(), from)
			if err != nil {
				return err
			}
			if out != "" {
				return a.saveFacts(facts, out)
			}
			return a.print(facts, func(w io.Writer) error { return facts.Write(w) })
		},
	}
	cmd.Flags().StringVar(&out, "file", "", "write the facts to this file instead of stdout")
	cmd.Flags().BoolVar(&script, "script", false, "print the survey as a shell script instead, and read nothing")
	cmd.Flags().StringVar(&from, "from", "", "read what the script wrote on a server, NAME.survey or NAME.survey.gz, instead of this server")
	cmd.MarkFlagsMutuallyExclusive("script", "from")
	return cmd
}

func gather(ctx context.Context, from string) (*preflight.Facts, error) {
	if from != "" {
		return plan.LoadFacts(ctx, from)
	}
	return preflight.Survey(ctx, host.Local{})
}

func (a *app) surveyScript(out string) error {
	if out != "" || a.output != asText {
		return advice.Usagef("airgap survey: --script prints to stdout; leave --file and --output away")
	}
	text, err := preflight.SurveyScript()
	if err != nil {
		return err
	}
	return a.print(nil, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func (a *app) saveFacts(facts *preflight.Facts, path string) error {
	// One directory: more would be the stick's place where no stick is.
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write facts: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return advice.Add(fmt.Errorf("write facts: %w", err), "remove the old facts first, or choose another name")
	}
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	if err := errors.Join(facts.Write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write facts: %w", errors.Join(err, os.Remove(path)))
	}
	fmt.Fprintf(a.stderr, "wrote %s: %s %s, kernel %s, %d packages%s\n",
		path, facts.OS.ID, facts.OS.Version, facts.Kernel.Release, len(facts.Packages), withGPUs(facts))
	return nil
}

func withGPUs(facts *preflight.Facts) string {
	if found := gpu.Summary(gpu.Detect(facts.PCI)); found != "" {
		return ", " + found
	}
	return ""
}
