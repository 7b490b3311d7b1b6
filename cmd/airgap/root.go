package main

import (
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
)

// app is what every command shares: the streams and the global flags.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	output         string // --output
	progress       string // --progress
	console        *ui.Terminal
}

const about = `airgap puts a Kubernetes cluster onto servers that have never seen the internet.

  connected host   airgap bundle -f airgap.yaml -o /media/stick     everything onto one stick
  first server     airgap install /media/stick/NAME                 checks, registry, packages, cluster
                                                                    with a section ssh in airgap.yaml: on all servers
  other servers    airgap join ADDRESS:PORT --ca-hash sha256:…      without SSH; the code comes by prompt or stdin
  any time         airgap verify                                    is everything as it should be?
                   airgap docs NAME                                 the page of a check, a rule, a command
  in trouble       airgap status                                    the first screen: what is here, and what to do
                   airgap support-bundle                            what others need to help, without secrets

Results are written to stdout, progress and errors to stderr.
Exit codes: 0 fine, 1 error, 2 usage, 3 preflight failed, 4 verification failed, 130 interrupted.`

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "airgap",
		Short:         "Kubernetes onto servers that have never seen the internet",
		Long:          about,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("output", a.output, formatsOf(cmd)...); err != nil {
				return err
			}
			return oneOf("progress", a.progress, string(ui.Auto), string(ui.Bars), string(ui.Plain), string(ui.JSON))
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true // airgap.rpm brings what shells complete by
	root.PersistentFlags().StringVar(&a.output, "output", asText, "format of the result: text, json, yaml; preflight, install and verify also junit and html")
	root.PersistentFlags().StringVar(&a.progress, "progress", string(ui.Auto), "progress on stderr: auto, bars, plain, json")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return advice.Add(&coded{exitcode.Usage, err}, "see %s --help", cmd.CommandPath())
	})
	root.AddCommand(surveyCommand(a), bundleCommand(a), inspectCommand(a), preflightCommand(a), netprobeCommand(a), installCommand(a), joinCommand(a),
		verifyCommand(a), upgradeCommand(a), rollbackCommand(a), backupCommand(a), restoreCommand(a), certsCommand(a), removeCommand(a), resetCommand(a), statusCommand(a), supportBundleCommand(a),
		complianceCommand(a), encryptionCommand(a), gpuCommand(a),
		registryCommand(a), pushCommand(a), schemaCommand(a), docsCommand(a), membershipCommand(a), nodeReportCommand(a), joinApproverCommand(a), releaseCommand(a))
	return completed(gives(root, asText))
}

// commands makes the tree of commands for the manual, the completions and tests.
func commands() *cobra.Command { return rootCommand(&app{}) }

// terminal is where the person is who started the command. The flags are known by then.
func (a *app) terminal() *ui.Terminal {
	if a.console == nil {
		a.console = &ui.Terminal{In: a.stdin, Err: a.stderr, Format: ui.Format(a.progress)}
	}
	return a.console
}

// newProgress shows what is under way on stderr, until a result or an error is
// written.
func (a *app) newProgress() ui.Progress { return a.terminal().Progress() }

func (a *app) endProgress() { a.terminal().EndProgress() }

// noArgs, oneArg: like cobra's own, but a usage error with its exit code.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return advice.Add(&coded{exitcode.Usage, unknownArgument(cmd, args[0])}, "see %s --help", cmd.CommandPath())
	}
	return nil
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return advice.Add(&coded{exitcode.Usage, wantArgument(cmd, what, len(args))}, "see %s --help", cmd.CommandPath())
		}
		return nil
	}
}
