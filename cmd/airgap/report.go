package main

import (
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/runreport"
	"airgap.dev/airgap/internal/advice"
)

func reportCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report what airgap changed",
		Long: `Report what airgap changed on hosts, for a change ticket. airgap preflight, airgap verify
and airgap compliance report the state of hosts and of the cluster.`,
		Example: "  airgap report run --since 8h",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(reportRunCommand(a))
	return withFormats(cmd, asText)
}

// runReportFlags select runs, and the directory for a signed report.
type runReportFlags struct {
	runreport.Options

	since, dir, signKey string
}

func reportRunCommand(a *app) *cobra.Command {
	var o runReportFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Report each run that changed this server: user, command, steps, changes, result",
		Long: `Report each run of airgap that changed this server, from the journal of the server: who
ran which command, when and from where, which steps changed the server, what each step
changed, and the result. Nothing is changed. Steps that found nothing to change are not in
the journal. The journal does not contain secrets, and reset deletes it.

--all-hosts also asks the other hosts of airgap.yaml through SSH.

--out writes report.html and report.json into a new directory, with their checksums. The
checksums are signed with the key of --sign-key, so that an auditor can prove later that
the report is unchanged: openssl dgst -sha256 -verify airgap.pub -signature SHA256SUMS.sig
SHA256SUMS, then sha256sum -c SHA256SUMS.`,
		Example: "  airgap report run --last\n  airgap report run --since 8h --all-hosts --output html > change.html\n" +
			"  airgap report run --since 2026-11-29 --all-hosts --out change-4711 --sign-key ops.key",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			o.Console = a.terminal()
			r, err := runreport.Read(cmd.Context(), o.Options)
			if err != nil {
				return err
			}
			if o.dir != "" {
				return r.Save(o.dir, o.signKey)
			}
			return a.printReport(r, reportWriters{text: r.Write, html: r.HTML})
		},
	}
	keyFlags(cmd, &o.Keys)
	f := cmd.Flags()
	f.StringVar(&o.since, "since", "", "only runs that changed something since then: a duration (8h), a date (2026-11-29) or a time (2026-11-29T22:00:00Z)")
	f.BoolVar(&o.Last, "last", false, "only the last run of each host")
	f.BoolVar(&o.AllHosts, "all-hosts", false, "also the other hosts of airgap.yaml, through SSH")
	f.StringVar(&o.dir, "out", "", "new directory for the signed report")
	f.StringVar(&o.signKey, "sign-key", "", "private key (PEM, ECDSA P-256) to sign the report of --out with; can be a pipe")
	return withFormats(cmd, asText, asJSON, asYAML, asHTML)
}

// check refuses flags that exclude each other, and reads --since.
func (o *runReportFlags) check() error {
	if (o.dir == "") != (o.signKey == "") {
		return advice.Usagef("airgap report run: --out and --sign-key require each other")
	}
	if o.since == "" {
		return nil
	}
	var err error
	o.Since, err = runreport.ParseSince(o.since, time.Now())
	return err
}
