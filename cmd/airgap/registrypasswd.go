package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/registry/trust"
)

func passwdLong() string {
	return `Lets USER push images of the site's own to this host's registry, with a password
that is asked for, or read as one line from standard input. Everybody may pull.
With --prefix USER may push, and delete, only below these names; without it every
name that is not reserved. Reserved for bundles are the names of all hosts, such
as docker.io/… and registry.k8s.io/…, with a dot or a port in their first part,
and all names that a bundle of this host has or had. Clients have to trust the
registry's authority, ` + trust.PKI{Dir: site.PKIDir}.CAFile() + `; podman and skopeo look for
it in /etc/containers/certs.d/SERVER:5000/.

The password is kept as a bcrypt hash in ` + site.UsersFile + `. It
counts at once, on this host: each control-plane host has its own users. A new
password leaves the prefixes as they are; --prefix '' lifts them. With --remove
the user's tokens end, too.`
}

func registryPasswdCommand(a *app) *cobra.Command {
	var o store.UserOptions
	cmd := &cobra.Command{
		Use:     "passwd USER",
		Short:   "Let somebody push to this host's registry, or no longer",
		Long:    passwdLong(),
		Example: "  airgap registry passwd ci --prefix team/\n  podman login SERVER:5000 --username ci\n  podman push SERVER:5000/team/app:1",
		Args:    oneArg("the user's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Console = args[0], a.terminal()
			return a.finish(store.SetUser(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.File, "users", site.UsersFile, "htpasswd file")
	cmd.Flags().StringArrayVar(&o.Prefixes, "prefix", nil, "beginning of the names that USER may push to; may be given more than once; '' lifts it")
	cmd.Flags().BoolVar(&o.Remove, "remove", false, "take the user out")
	return cmd
}
