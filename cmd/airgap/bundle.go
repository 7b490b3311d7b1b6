package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/build"
	"airgap.dev/airgap/bundle/matrix"
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

const bundleHelp = `Select the images, the RPMs with all dependencies, and the container runtime for the
cluster in airgap.yaml. Resolve their digests and sizes upstream, download them to
DIR/NAME, read every file back from the disk, and sign the bundle. The command requires
no root, no container engine and no dnf.

airgap.lock, next to airgap.yaml, records the result. With it the next run creates the
same bundle, byte for byte. If upstream moved a tag, the command reports it and keeps the
locked digest. --update NAME resolves one entry again: an image, a package, a file, an
add-on, the plugin of the pod network, or the manifests at a URL.

A package repository must be as trustworthy as before: the same keys, signed metadata if
it was signed, and no older metadata. --update NAME of the repository accepts its present
state; --update all does not.

Images come from images.list, images.manifests and addons. Helm charts are rendered here,
exactly as they are installed later. Every image that a pod is known to pull must resolve
before the download begins. The command reports all failures together. --plan prints each
reference with its digest, its size and the objects that need it.

Arguments, environment variables, ConfigMaps, Secrets, annotations and custom resources
can contain image names, too. A string that looks like an image is included if its
registry has the image. Otherwise it is listed as not included: add it to images.list if a
pod pulls it, or to images.ignore with a reason if no pod does. --strict fails while such
a string is open, or while an operator has no rule. "all resolved" is printed only when
nothing is open.

The bundle contains the pod network. The flannel objects are part of airgap. The Calico
manifest and the Cilium chart are downloaded and locked here, and patched when they are
applied. If an upstream change breaks a patch, the command reports it now.

Charts are rendered as helm template does, for the Kubernetes version in airgap.yaml and
the kinds that all add-ons define. A chart that Helm accepts is bundled. For duplicate
keys Helm uses the last one; a warning shows template, line and key. A chart that creates
passwords or keys during rendering is refused, because they would be on the USB drive; the
error shows the values to set.

Some image names are only in the program of an operator. Rules provide them: airgap docs
operators. An operator without a rule is reported; add its images to images.list.

--delta-from leaves out the files of an earlier bundle, or of a signed receipt from a
registry host. The result, DIR/NAME-delta-…, is a bundle of the whole cluster. A server
without the base refuses it and lists the missing files.

--plan --hosts prints each host and port that is asked, also those that answers lead to:
object storage, token servers, mirrors, hosts in the index of a chart repository. It asks
for the first byte of each file. The list is for the firewall or the proxy; each host has
the setting that replaces it. A host that does not answer is in the list, too, and the
list is incomplete then.

--from uses the contents of an earlier bundle in place of upstream, by their SHA-256:
images, packages, charts and files. So a bundle can be built again if upstream has removed
them, and fewer bytes are downloaded. The command lists the items from it. Metadata of
repositories and manifests at URLs still come from upstream.

--shared-with is for several sites on one USB drive: the second bundle leaves out the files
of the first one. On the servers of the second site, import the first bundle with airgap
registry import, then install the second one.

Incompatible versions are refused first. The check uses airgap.yaml and the kernels,
operating systems, GPUs and loaded GPU drivers of the surveyed servers. --matrix prints
the compatibility table with its sources.

For nodes with the role gpu, the facts select the driver: the GPUs select branch and
module, the kernels select headers and compiler. packages.repositories must contain the
repository of NVIDIA, and EPEL for DKMS. The section gpu overrides the selection.

The bundle is signed with the keys in --keys. The first bundle of a site needs --new-keys,
which creates them; a later one never gets new keys by accident, because the servers trust
the first ones. --sign-key FILE signs with a key of the site: ECDSA P-256 or P-384, as
openssl writes it. On the servers --require-key then accepts only that key. For keys in an
HSM or on another host, give the public keys (--sign-key, --rpm-key), and --signer PROGRAM
or --sign-elsewhere DIR: airgap docs signing.

The same airgap.yaml, airgap.lock, keys and airgap give the same bytes, also on another day
and host: the time in the bundle is in airgap.lock. SOURCE_DATE_EPOCH replaces it.

Without HOME, --keys must name the directory of the keys. Private keys have the mode 0600.
A CI job writes them after umask 077, or passes a pipe to --sign-key. On WSL, keep them in
the Linux file system: chmod has no effect on the drives of Windows.

The metadata of package repositories stays in ~/.cache/airgap/repodata, or below
XDG_CACHE_HOME, up to 2 GiB. A later plan uses a file from there only if it has the
checksum in the repository's present metadata. The directory can be removed at any time.

After an interruption, even a kill, the same command continues where it stopped. It does
not change a complete bundle. --limit-rate limits all downloads together.

File names in airgap.yaml are relative to its directory. The source of airgap has the
files of five sites in examples/: one GPU server, three control-plane hosts behind a
load balancer, RHEL 8 with podman, RHEL 10 with Cilium, a corporate mirror.

`

func bundleCommand(a *app) *cobra.Command {
	o := build.Options{Cache: build.UserCache()}
	var only planFlags
	cmd := &cobra.Command{
		Use:   "bundle -f airgap.yaml -o DIR",
		Short: "Create a bundle with everything that the cluster needs",
		Long:  bundleHelp + smallest,
		Example: "  airgap bundle -f airgap.yaml -o /mnt/stick --new-keys                    # the first bundle of a site\n  airgap bundle -f airgap.yaml --facts facts/ --plan\n" +
			"  airgap bundle --plan --hosts --output json    # for the firewall team\n" +
			"  airgap bundle --facts facts/ -o /mnt/stick --delta-from last-year/bank    # its bundle.json and SHA256SUMS* are enough\n" +
			"  airgap bundle -o /mnt/stick/new --from /mnt/stick/bank                   # for images that upstream has removed\n" +
			"  airgap bundle -f busan.yaml -o /mnt/stick --shared-with /mnt/stick/seoul\n" +
			"  airgap bundle -o /mnt/stick --sign-key <(openssl pkey -in site.key)      # asks for the passphrase\n" +
			"  airgap bundle -o /mnt/stick --sign-key site.pub --signer ./sign-in-hsm   # the private key is in an HSM",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if only.matrix {
				return a.finish(matrix.Read(o.File, cmd.Flags().Changed("file")))
			}
			if err := only.check(o.Out); err != nil {
				return err
			}
			o.Commands, o.Progress = commands, a.newProgress()
			if only.plan {
				return only.show(cmd.Context(), a, o)
			}
			return a.finish(build.Bundle(cmd.Context(), o))
		},
	}
	bundleFlags(cmd.Flags(), &o)
	only.add(cmd.Flags())
	return cmd
}

func bundleFlags(f *pflag.FlagSet, o *build.Options) {
	f.StringVarP(&o.File, "file", "f", "airgap.yaml", "configuration file")
	f.StringVarP(&o.Out, "out", "o", "", "directory on the USB drive; the bundle is written to DIR/NAME")
	f.StringVar(&o.Facts, "facts", "", "directory with the files of airgap survey or its script (*.facts.yaml, *.survey, *.survey.gz); default: assume a minimal installation")
	signingFlags(f, &o.Keys)
	f.StringVar(&o.PartSize, "part-size", "", "maximum size of a part; a multiple of 1MiB, at least 64MiB; default: 4095MiB, or less for media.gate in airgap.yaml")
	f.StringVar(&o.LimitRate, "limit-rate", "", "limit of all downloads together, in bytes per second, such as 20MB; can be another one when the command continues")
	f.BoolVar(&o.AnyFilesystem, "any-filesystem", false, "write to a medium that the first server cannot mount, because it does not read this medium itself")
	f.StringArrayVar(&o.Update, "update", nil, "entry of airgap.lock to resolve again: an image, a package, a repository, a file, an add-on, the plugin of the pod network, the URL of manifests, or all; can be repeated")
	f.StringVar(&o.Delta.From, "delta-from", "", "directory of an earlier bundle, or a receipt: leave out the files in it, because the servers have them")
	f.StringArrayVar(&o.Delta.Earlier, "from", nil, "directory of an earlier bundle: use its images, packages, charts and files in place of upstream; can be repeated")
	f.StringVar(&o.Delta.Shared, "shared-with", "", "directory of another site's bundle on the same USB drive: leave out the files in it")
	f.StringVar(&o.Delta.Authority, "receipt-key", "", "CA of the registry that must have signed the receipt, sha256:…; airgap registry status --receipt prints it")
	f.StringArrayVar(&o.Delta.Keys, "require-key", nil, "key that must have signed the bundle of --delta-from, --shared-with or --from: public key (PEM) or SHA256:…; can be repeated; default: the public keys (*.pub) in --keys, and the key of --sign-key")
	f.BoolVar(&o.Strict, "strict", false, "fail if a string looks like an image and is not included and not in images.ignore, or if an operator has no rule for the images of its pods")
}
