package main

import (
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/survey"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/preflight"
)

const surveyLong = `Reads what this server is: OS, kernel, installed packages, cgroups, network,
disks, PCI devices, cards by a driver that is there. Nothing is changed, and most of
it needs no root; what could not be read is listed under "unknown".

Carry the file to the connected host: airgap bundle --facts DIR then bundles
exactly what this server lacks. --file makes the directory; a file of before is not
written over.

Where no program may run before it was approved, --script prints the same
survey as a shell script of 150 lines. What it writes is read by --facts too,
from NAME.survey or, packed, NAME.survey.gz; --from shows it as facts.`

func surveyCommand(a *app) *cobra.Command {
	var o survey.Options
	var script bool
	cmd := &cobra.Command{
		Use:   "survey",
		Short: "Write down the facts of this server, for the bundle",
		Long:  surveyLong,
		Example: `  airgap survey --file /media/stick/facts/$(hostname).facts.yaml
  airgap survey --script >survey.sh                              anywhere
  sh survey.sh | gzip >/media/stick/facts/$(hostname).survey.gz  on the server`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.File != "" && a.output != asText:
				return advice.Usagef("airgap survey: --file is always written as YAML; leave --output away")
			case script:
				return surveyScript(a, o.File)
			}
			o.Say = a.say
			facts, err := survey.Take(cmd.Context(), o)
			if err != nil || o.File != "" {
				return err
			}
			return a.print(facts, facts.Write)
		},
	}
	cmd.Flags().StringVar(&o.File, "file", "", "write the facts to this file instead of stdout")
	cmd.Flags().BoolVar(&script, "script", false, "print the survey as a shell script instead, and read nothing")
	cmd.Flags().StringVar(&o.From, "from", "", "read what the script wrote on a server, NAME.survey or NAME.survey.gz, instead of this server")
	cmd.MarkFlagsMutuallyExclusive("script", "from")
	return cmd
}

func surveyScript(a *app, out string) error {
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
