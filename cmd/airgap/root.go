package main

import (
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/detach"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
)

// app has the streams and the global flags that all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	output         string // --output
	progress       string // --progress
	console        *ui.Terminal
	args           []string // of this program
	streams        detach.Streams
}

const about = `airgap installs Kubernetes clusters on servers without internet access.

  connected host   airgap bundle -f airgap.yaml -o /mnt/stick     write everything to one USB drive
  first server     airgap install /mnt/stick/NAME                 check, then install registry, packages, cluster;
                                                                    with a section ssh in airgap.yaml: on all servers
  other servers    airgap join ADDRESS:PORT --ca-hash sha256:…      without SSH; join token from a prompt or stdin
  any time         airgap verify                                    check that the cluster is healthy
                   airgap docs NAME                                 the page of a check, a rule or a command
  on a problem     airgap status                                    the state of this server, and what to do next
                   airgap support-bundle                            diagnostic data without secrets

Results are written to stdout. Progress and errors are written to stderr.
Exit codes: 0 fine, 1 error, 2 usage, 3 preflight failed, 4 verification failed, 5 hosts left out, 130 interrupted.`

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "airgap",
		Short:         "Install Kubernetes clusters on servers without internet access",
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
			if err := oneOf("progress", a.progress, string(ui.Auto), string(ui.Bars), string(ui.Plain), string(ui.JSON)); err != nil {
				return err
			}
			return a.inUnit(cmd)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true // airgap.rpm installs the completions
	root.PersistentFlags().StringVar(&a.output, "output", asText, "format of the result: text, json, yaml; preflight, install and verify also junit and html")
	root.PersistentFlags().StringVar(&a.progress, "progress", string(ui.Auto), "format of the progress on stderr: auto, bars, plain, json")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(surveyCommand(a), bundleCommand(a), signCommand(a), inspectCommand(a), packCommand(a), unpackCommand(a), preflightCommand(a), netprobeCommand(a), installCommand(a), joinCommand(a),
		verifyCommand(a), upgradeCommand(a), rollbackCommand(a), backupCommand(a), restoreCommand(a), certsCommand(a), removeCommand(a), resetCommand(a), statusCommand(a), supportBundleCommand(a),
		complianceCommand(a), reportCommand(a), encryptionCommand(a), gpuCommand(a),
		registryCommand(a), pushCommand(a), exportCommand(a), configCommand(a), schemaCommand(a), docsCommand(a), membershipCommand(a), nodeReportCommand(a), joinApproverCommand(a), releaseCommand(a), runUnitCommand())
	return addCompletions(addSSHConfig(withFormats(root, asText)))
}

// commands returns all commands, for the manual pages, the completions and tests.
func commands() *cobra.Command { return rootCommand(&app{}) }

// terminal returns the terminal of the user. Call it after the flags are parsed.
func (a *app) terminal() *ui.Terminal {
	if a.console == nil {
		a.console = &ui.Terminal{In: a.stdin, Err: a.stderr, Format: ui.Format(a.progress)}
	}
	return a.console
}

// newProgress shows progress on stderr until the first byte of a result or an error.
func (a *app) newProgress() ui.Progress { return a.terminal().Progress() }

func (a *app) endProgress() { a.terminal().EndProgress() }
