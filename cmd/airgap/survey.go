package main

import (
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/survey"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight/facts"
)

const surveyLong = `Record the facts of this server: OS, kernel, installed packages, cgroups, network, disks,
PCI devices, and GPUs if their driver is installed. Nothing is changed. Most facts can be
read without root; the others are listed under "unknown".

Copy the file to the connected host: airgap bundle --facts DIR then bundles exactly the
packages that this server is missing. --file creates the directory, and does not overwrite
an existing file.

If programs must be approved before they run on a server, use --script: it prints the same
survey as a shell script of 250 lines. --facts also reads the output of the script, from
NAME.survey or, compressed, NAME.survey.gz. --from shows that output as facts.

--redact leaves out host names, addresses, serial numbers, users, and the rules of the
network. The facts keep the kernel, packages, versions, GPUs and file systems, which the
bundle needs. --as is the name of the server in them: its node in airgap.yaml. On the
connected host, airgap survey check lists the missing facts and their use. Names of
packages stay, also of those that the site built.`

func surveyCommand(a *app) *cobra.Command {
	var o survey.Options
	var script bool
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Record the facts of this server for the bundle",
		Long:  surveyLong,
		Example: `  airgap survey --file /mnt/stick/facts/$(hostname).facts.yaml
  airgap survey --redact --file /mnt/stick/facts/w1.facts.yaml
  airgap survey --script >survey.sh                            # anywhere
  sh survey.sh | gzip >/mnt/stick/facts/$(hostname).survey.gz  # on the server`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.File != "" && a.output != asText:
				return advice.Usagef("airgap survey: --file always writes YAML: leave out --output")
			case script:
				return surveyScript(a, o.File)
			}
			o.Say = a.say
			taken, err := survey.Take(cmd.Context(), o)
			if err != nil || o.File != "" {
				return err
			}
			return a.print(taken, taken.Write)
		},
	}
	cmd.Flags().StringVar(&o.File, "file", "", "file for the facts; default: stdout")
	cmd.Flags().BoolVar(&script, "script", false, "print the survey as a shell script, and read nothing")
	cmd.Flags().StringVar(&o.From, "from", "", "output of the script on a server, NAME.survey or NAME.survey.gz, to read instead of this server")
	cmd.Flags().BoolVar(&o.Redact, "redact", false, "leave out host names, addresses, serial numbers and users")
	cmd.Flags().StringVar(&o.As, "as", "", "name of the server in redacted facts, its node in airgap.yaml; default: NAME of --file NAME.facts.yaml")
	cmd.MarkFlagsMutuallyExclusive("script", "from")
	cmd.MarkFlagsMutuallyExclusive("script", "redact")
	cmd.AddCommand(surveyCheckCommand(a))
	return cmd
}

func surveyScript(a *app, out string) error {
	if out != "" || a.output != asText {
		return advice.Usagef("airgap survey: --script prints to stdout: leave out --file and --output")
	}
	text, err := facts.SurveyScript()
	if err != nil {
		return err
	}
	return a.print(nil, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
