package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/build"
	"airgap.dev/airgap/bundle/matrix"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
)

const smallest = `The smallest airgap.yaml:

  apiVersion: airgap.dev/v1alpha1
  kind: Cluster
  name: bank
  kubernetes:
    version: "1.36.3"
  nodes:
    - {name: cp1, address: 10.0.0.11, roles: [control-plane]}
    - {name: w1, address: 10.0.0.12, roles: [worker]}
  packages:
    os: el9
    repositories:
      - name: baseos
        baseURL: https://dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os/
        gpgKeys: [https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9]
      - name: appstream   # has container-selinux, conntrack-tools and socat
        baseURL: https://dl.rockylinux.org/pub/rocky/9/AppStream/x86_64/os/
        gpgKeys: [https://dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9]`

const bundleHelp = `Decides what the cluster of airgap.yaml needs (images, RPMs with everything they
require, the runtime), asks upstream for digests and sizes, fetches it all into
DIR/NAME, reads it back from the disk, and signs it. Needs no root, no container
engine and no dnf.

What was decided is kept in airgap.lock beside airgap.yaml: with it the same
bundle comes out again, byte for byte. A tag that upstream has moved since is
told, not followed; --update NAME decides an image, a package, a file, an add-on, the
pod network's plugin or the manifests of a URL anew. What vouched for a repository of
packages has to vouch for it again: its keys, a signature of its metadata, metadata that
is not older. --update NAME of the repository takes what it has now; --update all does not.

Images come from where they are named: images.list, images.manifests, and addons, whose
Helm charts are rendered here, as they will be installed. Before anything is fetched
each image that a pod is known to pull has to resolve; everything that does not is
reported at once. --plan prints each reference, who needs it, its digest, its size.

Arguments, variables, ConfigMaps, Secrets, annotations and custom resources name images
too. What looks like an image there is carried if its registry has it. What its
registry does not have is listed as not carried: write it into images.list if a pod
pulls it, into images.ignore with a reason if none does. --strict fails until that is
done, and until a rule knows each operator; "all resolved" is printed only then.

The pod network comes along: flannel's objects are airgap's own, Calico's manifest and
Cilium's chart are fetched and locked here, and patched when they are applied. What
upstream has changed so that a patch finds nothing is told now.

Charts are rendered as helm template does it, for the Kubernetes of airgap.yaml and the
kinds that all add-ons define. What Helm tolerates is bundled. Helm takes the last of two
equal keys: a warning names template, line and key. A chart
that makes passwords or keys while it is rendered is refused, as they would be on the
stick: the error names the values to set. Images that only an operator's program knows
come from rules: airgap docs operators. An operator without a rule is named; its images
belong in images.list.

With --delta-from the bundle leaves out what a bundle before, or a signed receipt
from a registry host, says is there: DIR/NAME-delta-… is a bundle of the whole
cluster like any other, but a server without its base refuses it, naming what lacks.

Versions that cannot work together are refused first, by airgap.yaml and by the
kernels, systems, GPUs and loaded GPU drivers of the surveyed servers; --matrix
prints the table with its sources.

The facts of nodes with the role gpu decide their driver: branch and module by their
cards, headers and compiler by their kernels. packages.repositories has to name
NVIDIA's repository, and for DKMS EPEL; the section gpu may decide otherwise.

A key of this user's own, made with the first bundle, signs it. --sign-key FILE signs
with one that the site keeps: ECDSA P-256, as openssl writes it. On the servers
--require-key then holds to exactly that key.

Interrupted, even killed, the same command goes on where it stopped. A bundle
that is complete already is left alone.

Files that airgap.yaml names are looked for beside it. examples/ of airgap's source has the
files of five sites: one GPU server, three control-plane hosts behind a balancer, RHEL 8 with
podman, RHEL 10 with Cilium, a corporate mirror.

`

func bundleCommand(a *app) *cobra.Command {
	var o build.Options
	var planOnly, showMatrix bool
	cmd := &cobra.Command{
		Use:   "bundle -f airgap.yaml -o DIR",
		Short: "Put everything the cluster needs onto one stick",
		Long:  bundleHelp + smallest,
		Example: "  airgap bundle -f airgap.yaml -o /media/stick\n  airgap bundle -f airgap.yaml --facts facts/ --plan\n" +
			"  airgap bundle --facts facts/ -o /media/stick --delta-from last-year/bank    # its bundle.json and SHA256SUMS* are enough\n" +
			"  airgap bundle -o /media/stick --sign-key <(openssl pkey -in site.key)      # asks for the passphrase",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case showMatrix:
				return a.finish(matrix.Read(o.File, cmd.Flags().Changed("file")))
			case o.Out == "" && !planOnly:
				return advice.Usagef("airgap bundle: where to? Give -o DIR, or --plan to only see what it would hold")
			}
			o.Commands, o.Progress = commands, a.newProgress()
			if planOnly {
				proof, err := build.Plan(cmd.Context(), o)
				if proof == nil {
					return err
				}
				return cmp.Or(a.print(proof, proof.Write), err)
			}
			return a.finish(build.Bundle(cmd.Context(), o))
		},
	}
	bundleFlags(cmd.Flags(), &o)
	cmd.Flags().BoolVar(&planOnly, "plan", false, "print what the bundle would hold and who needs it; fetch and write nothing")
	cmd.Flags().BoolVar(&showMatrix, "matrix", false, "print which versions go together, with sources, marking those of airgap.yaml; fetch and write nothing")
	return cmd
}

func bundleFlags(f *pflag.FlagSet, o *build.Options) {
	f.StringVarP(&o.File, "file", "f", "airgap.yaml", "configuration")
	f.StringVarP(&o.Out, "out", "o", "", "directory of the stick; the bundle becomes DIR/NAME")
	f.StringVar(&o.Facts, "facts", "", "directory of what airgap survey or its script wrote on the servers (*.facts.yaml, *.survey, *.survey.gz); without it a minimal installation is assumed")
	f.StringVar(&o.Keys, "keys", site.DefaultKeyDir(), "directory of the signing keys; the first bundle makes them there")
	f.StringVar(&o.SignKey, "sign-key", "", "private key (PEM, ECDSA P-256) that signs the bundle instead of the one in --keys; may be a pipe")
	f.StringVar(&o.PartSize, "part-size", "4095MiB", "largest part; a multiple of 1MiB, at least 64MiB")
	f.StringArrayVar(&o.Update, "update", nil, "decide this anew: an image, a package, a repository, a file, an add-on or the pod network's plugin of airgap.lock, the URL of manifests, or all")
	f.StringVar(&o.Delta.From, "delta-from", "", "what the servers have: directory of a bundle before, or a receipt; only the rest is bundled")
	f.StringVar(&o.Delta.Authority, "receipt-key", "", "registry authority that the receipt must be signed by, sha256:…; airgap registry status --receipt prints it")
	f.StringArrayVar(&o.Delta.Keys, "require-key", nil, "key that the bundle of --delta-from must be signed with: public key (PEM) or SHA256:…; default: the one in --keys, or that of --sign-key")
	f.BoolVar(&o.Strict, "strict", false, "fail if something looks like an image and is neither carried nor named in images.ignore, or if no rule knows what the pods of an operator pull")
}
