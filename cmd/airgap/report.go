package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/runreport"
)

func reportCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Report the changes that airgap made",
		Long: `Report the changes that airgap made on hosts, for a change ticket. airgap preflight,
airgap verify and airgap compliance report the state of hosts and of the cluster.`,
		Example: "  airgap report run --since 8h",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(reportRunCommand(a))
	return withFormats(cmd, asText)
}

const reportRunHelp = `Report each run of airgap that changed this server, from the journal of the server: the
user and the command, when and from where, the steps that changed the server with their
changes, and the result. Nothing is changed. The journal has the runs of airgap install,
join, upgrade, rollback, remove, restore and reset, of certs renew and rotate-ca, of
encryption rotate, and of registry import, passwd, prune and renew. Steps that found
nothing to change are not in it. The journal does not contain secrets, and reset deletes
it.

A run that another server ordered through SSH has the user of the SSH session and the
operator there: "ops as root, for kim@node1". The operator is the statement of that
server.

--all-hosts also asks the other hosts of airgap.yaml through SSH. A run of an operator then
lists the runs that it ordered on other hosts.

--out writes report.html and report.json into a new directory, with their checksums. The
checksums are signed with the key of --sign-key, so that an auditor can prove later that
the report is unchanged: openssl dgst -sha256 -verify airgap.pub -signature SHA256SUMS.sig
SHA256SUMS, then sha256sum -c SHA256SUMS.`

func reportRunCommand(a *app) *cobra.Command {
	var o runreport.Options
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Report each run that changed this server: user, command, steps, changes, result",
		Long:  reportRunHelp,
		Example: "  airgap report run --last\n  airgap report run --since 8h --all-hosts --output html > change.html\n" +
			"  airgap report run --since 2026-11-29 --all-hosts --out change-4711 --sign-key ops.key",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Console = a.terminal()
			r, err := runreport.Make(cmd.Context(), o)
			if err != nil || o.Dir != "" {
				return err
			}
			return a.printReport(r, reportWriters{text: r.Write, html: r.HTML})
		},
	}
	keyFlags(cmd, &o.Keys)
	f := cmd.Flags()
	f.StringVar(&o.Since, "since", "", "only runs that changed something since then: a duration (8h), a date (2026-11-29) or a time (2026-11-29T22:00:00Z)")
	f.BoolVar(&o.Last, "last", false, "only the last run of each host")
	f.BoolVar(&o.AllHosts, "all-hosts", false, "also the other hosts of airgap.yaml, through SSH")
	f.StringVar(&o.Dir, "out", "", "new directory for the signed report")
	f.StringVar(&o.SignKey, "sign-key", "", "private key (PEM, ECDSA P-256) to sign the report of --out with; can be a pipe")
	return withFormats(cmd, asText, asJSON, asYAML, asHTML)
}
