package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/registry"
)

const serveLong = `Serves every bundle of the store until it is ended by a signal, with what the site
has pushed, and copies from the other registries (--peer) what was pushed there.
airgap install and join start it as ` + registry.UnitName + `, with options in
` + site.RegistryOpts + `, as a user who owns nothing but what was
pushed. A bundle that comes later is served after a restart, which airgap registry
import sees to; a certificate that was renewed is served from the next connection on.`

func registryServeCommand(a *app) *cobra.Command {
	var o store.ServeOptions
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Serve the store over TLS; what " + registry.UnitName + " runs",
		Long:    serveLong,
		Example: "  airgap registry serve\n  airgap registry serve --store ./bundles --pki ./pki --pushed '' --port 5443",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Log = slog.New(slog.NewJSONHandler(a.stderr, nil))
			return store.Serve(cmd.Context(), o)
		},
	}
	placeFlags(cmd, &o.Place)
	f := cmd.Flags()
	f.IntVar(&o.Port, "port", registry.DefaultPort, "TCP port")
	f.StringVar(&o.PKI, "pki", site.PKIDir, "directory of registry.crt and registry.key")
	f.StringVar(&o.Pushed, "pushed", site.PushedDir, "directory of what is pushed; empty: nobody may push")
	f.StringVar(&o.Users, "users", site.UsersFile, "htpasswd file of those who may push")
	f.StringArrayVar(&o.Peers, "peer", nil, "ADDRESS:PORT of another registry of this cluster, whose pushes are copied; may be given more than once")
	f.StringVar(&o.Join, "join", site.JoinDir, "directory that joining hosts may read")
	return gives(cmd, asText)
}
