package main

import (
	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/store"
	"airgap.dev/airgap/registry/trust"
)

func passwdLong() string {
	return `Allow USER to push images of the site to the registry of this host. The command asks for
the password, or reads one line from standard input. Pulling requires no password.

With --prefix USER can push and delete only names with these prefixes. Without it USER can
push and delete every name that is not reserved. Two kinds of names are reserved for
bundles: names that begin with a host, such as docker.io/… and registry.k8s.io/…, with a
dot or a port in the first part; and all names of present and former bundles of this host.

Clients must trust the registry CA, ` + trust.PKI{Dir: site.PKIDir}.CAFile() + `. podman and skopeo read it from
/etc/containers/certs.d/SERVER:5000/.

The password is stored as a bcrypt hash in ` + site.UsersFile + `. It is valid
immediately, on this host only: each control-plane host has its own users. A new password
does not change the prefixes; --prefix '' removes them. --remove also revokes the tokens
of the user.`
}

func registryPasswdCommand(a *app) *cobra.Command {
	var o store.UserOptions
	cmd := &cobra.Command{
		Use:     "passwd USER",
		Short:   "Allow a user to push to the registry of this host, or remove the user",
		Long:    passwdLong(),
		Example: "  airgap registry passwd ci --prefix team/\n  podman login SERVER:5000 --username ci\n  podman push SERVER:5000/team/app:1",
		Args:    oneArg("the user name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Console = args[0], a.terminal()
			return a.finish(store.SetUser(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&o.File, "users", site.UsersFile, "htpasswd file with the users")
	cmd.Flags().StringArrayVar(&o.Prefixes, "prefix", nil, "prefix of the names that USER can push; can be repeated; '' removes all prefixes")
	cmd.Flags().BoolVar(&o.Remove, "remove", false, "remove the user")
	return cmd
}
