package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/registry"
)

const serveLong = `Serve all bundles of the store and all images that the site pushed, until a signal stops
the command. Copy images from the other registries (--peer) if they were pushed there.

airgap install and join start the command as ` + registry.UnitName + `, with options in
` + site.RegistryOpts + `. Its user owns only the pushed images.

A new bundle is served after a restart, which airgap registry import does. A bundle that
is served in place is served within seconds after its stick is mounted. A renewed
certificate is used from the next connection.`

func registryServeCommand(a *app) *cobra.Command {
	var o store.ServeOptions
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the store over TLS, as " + registry.UnitName + " does",
		Long:    serveLong,
		Example: "  airgap registry serve\n  airgap registry serve --store ./bundles --pki ./pki --pushed '' --port 5443",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Log = slog.New(slog.NewJSONHandler(a.stderr, nil))
			return store.Serve(cmd.Context(), o)
		},
	}
	storeFlags(cmd, &o.Place)
	f := cmd.Flags()
	f.IntVar(&o.Port, "port", registry.DefaultPort, "TCP port to listen on")
	f.StringVar(&o.PKI, "pki", site.PKIDir, "directory with registry.crt and registry.key")
	f.StringVar(&o.Pushed, "pushed", site.PushedDir, "directory of the pushed images; empty: pushes are refused")
	f.StringVar(&o.Users, "users", site.UsersFile, "htpasswd file with the users that can push")
	f.StringArrayVar(&o.Peers, "peer", nil, "ADDRESS:PORT of another registry of this cluster, to copy pushed images from; can be repeated")
	f.StringVar(&o.Join, "join", site.JoinDir, "directory that joining hosts can read")
	return withFormats(cmd, asText)
}
