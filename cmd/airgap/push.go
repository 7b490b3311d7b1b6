package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/push"
	"airgap.dev/airgap/internal/advice"
)

const pushLong = `Push the images of the bundle in DIR to REGISTRY: Harbor, Nexus or another registry that
follows the OCI distribution specification. REGISTRY is HOST/PROJECT or HOST:PORT/PROJECT.
The default is registry.existing in airgap.yaml, from which the nodes pull.

docker.io/library/nginx:1.27 becomes REGISTRY/docker.io/library/nginx:1.27. Existing
images are not sent again, so an interrupted push continues. The base of a delta must be
in the registry already. If a tag pointed to another image, the command moves it and
reports it. Most registries refuse an image index if the bundle has only one of its
platforms: the tag then points to the manifest of that platform, which is also reported.

Credentials come from podman login or docker login, or from --user: the command asks for
the password, or reads one line from standard input. Plain HTTP is refused.`

func pushCommand(a *app) *cobra.Command {
	var o push.Options
	cmd := &cobra.Command{
		Use:     "push DIR [REGISTRY]",
		Short:   "Push the images of a bundle to an existing registry",
		Long:    pushLong,
		Example: "  airgap push /mnt/stick/bank harbor.bank.example/airgap --ca /etc/pki/bank-ca.crt --user robot\n  airgap push /mnt/stick/bank",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return advice.Usagef("airgap push: expected the directory of the bundle, and the registry if registry.existing in airgap.yaml is empty")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			if len(args) > 1 {
				o.Registry = args[1]
			}
			done, err := push.Run(cmd.Context(), o)
			if err != nil && len(done.Images) == 0 {
				return err
			}
			return errors.Join(a.print(done.Images, done.Write), err)
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.CA, "ca", "", "PEM file with the CA certificate of the registry; default: the CA in airgap.yaml, else the CAs that this host trusts")
	cmd.Flags().StringVar(&o.User, "user", "", "user name for the login; default: the login of podman or docker")
	return cmd
}
