package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/export"
	"airgap.dev/airgap/internal/advice"
)

func exportCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write contents of a bundle for other servers of the site",
		Long: `Write contents of a bundle for other servers of the site. For images, use airgap push:
it fills Harbor, Nexus or another registry.`,
		Example: "  airgap export rpm /mnt/stick/bank /srv/repo",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(exportRPMCommand(a))
	return withFormats(cmd, asText)
}

const exportRPMLong = `Write the RPMs of the bundle to DIR/OS as a complete dnf repository: packages, metadata
with its signature, and the keys of airgap and of the vendors. DIR/airgap-OS.repo is its
configuration for dnf. Satellite, Nexus or a plain web server can serve it.

The command verifies each byte while it reads it from the bundle. It keeps existing files
with the right SHA-256, so an interrupted export continues. repomd.xml comes last: until
then, dnf sees the earlier repository. Files of an earlier bundle stay; the command lists
them. A delta needs its base in the store of this host.

--url is the URL of DIR on the web server, for the .repo file. Satellite and Nexus write
their own metadata: set repo_gpgcheck=0 in their .repo file and keep gpgcheck=1, because
the vendors' signatures are in the packages.`

func exportRPMCommand(a *app) *cobra.Command {
	var o export.Options
	cmd := &cobra.Command{
		Use:     "rpm BUNDLE DIR",
		Short:   "Write the RPMs of a bundle as a dnf repository",
		Long:    exportRPMLong,
		Example: "  airgap export rpm /mnt/stick/bank /var/www/html/airgap --url https://repo.bank.example/airgap\n  airgap export rpm /mnt/stick/bank /srv/repo --output json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return advice.Usagef("airgap export rpm: expected the directory of the bundle, and the directory for the repository")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.To, o.Progress = args[0], args[1], a.newProgress()
			return a.finish(export.RPMs(cmd.Context(), o))
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.URL, "url", "", "URL of DIR on the web server, for the .repo file; default: a file URL of DIR")
	return cmd
}
