package main

import (
	"github.com/spf13/pflag"

	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/cluster/site"
)

// signingFlags are the flags that name the builder's keys.
func signingFlags(f *pflag.FlagSet, o *program.KeyOptions) {
	f.StringVar(&o.Dir, "keys", site.DefaultKeyDir(), "directory of the signing keys, and of public keys (*.pub) of other builders that the servers must trust too")
	f.BoolVar(&o.New, "new-keys", false, "create the signing keys that --keys lacks; for the first bundle of a site")
	f.StringVar(&o.RPM, "rpm-key", "", "public key (OpenPGP, or RSA in PEM) of the key that signs the packages, instead of the key in --keys; needs --signer or --sign-elsewhere")
	remoteFlags(f, o)
}

// cosigningFlags name the key of a person who only signs a bundle.
func cosigningFlags(f *pflag.FlagSet, o *program.KeyOptions) {
	f.StringVar(&o.Dir, "keys", site.DefaultKeyDir(), "directory of the signing keys")
	remoteFlags(f, o)
}

// remoteFlags name the key that signs the bundle, and the way to private keys that are elsewhere.
func remoteFlags(f *pflag.FlagSet, o *program.KeyOptions) {
	f.StringVar(&o.Sign, "sign-key", "", "private key (PEM, ECDSA P-256 or P-384) to sign with, instead of the key in --keys; can be a pipe; with --signer or --sign-elsewhere its public key")
	f.StringVar(&o.Program, "signer", "", "program that signs with private keys that are not on this host: input on stdin, signature on stdout")
	f.StringVar(&o.Folder, "sign-elsewhere", "", "directory for inputs and signatures of private keys that are on another host; the same command takes the signatures later")
}
