package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airgap.dev/airgap/cluster/rotation"
	"airgap.dev/airgap/cluster/verification"
	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/config/inventory"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/verify"
)

// addCompletions sets the shell completions of every flag with a value, and of every argument.
// The completions of a flag apply to all commands, except those listed with a command.
func addCompletions(root *cobra.Command) *cobra.Command {
	values, arguments := flagValues(), argumentValues()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), root.Name()), " ")
		for _, flags := range []*pflag.FlagSet{cmd.LocalNonPersistentFlags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				offer, own := values[path+" "+f.Name]
				if !own {
					offer = values[f.Name]
				}
				if offer != nil {
					_ = cmd.RegisterFlagCompletionFunc(f.Name, offer) // fails only for unknown flags
				}
			})
		}
		cmd.ValidArgsFunction = cobra.NoFileCompletions
		if offer := arguments[path]; offer != nil {
			cmd.ValidArgsFunction = offer
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return root
}

// flagValues returns the completions of flags by flag name, or by command and flag name.
func flagValues() map[string]cobra.CompletionFunc {
	all := map[string]cobra.CompletionFunc{
		"output": func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return only(formatsOf(cmd)...)
		},
		"progress": words(string(ui.Auto), string(ui.Bars), string(ui.Plain), string(ui.JSON)),

		"file":                files("yaml", "yml"),
		"survey file":         files("yaml"),
		"docs file":           files("html"),
		"language":            words(string(docs.English), string(docs.Korean)),
		"docs listen":         cobra.NoFileCompletions,
		"survey from":         files("survey", "gz"),
		"registry serve join": folders,
		"kubeconfig":          anyFile,
		"receipt":             anyFile,
		"delta-from":          anyFile,
		"code-file":           anyFile, "token-file": anyFile,
		"users":        anyFile,
		"sign-key":     files("key", "pem"),
		"require-key":  files("pub", "pem"),
		"backup-key":   files("pub", "pem"),
		"identity":     anyFile,
		"ca":           files("crt", "pem"),
		"network-page": files("html"),
		"textfile":     files("prom"),
		"into":         files("yaml", "yml"),
		"format":       words(string(inventory.CSV), string(inventory.INI), string(inventory.YAML)),
	}
	maps.Copy(all, nameValues())
	for _, name := range []string{"out", "facts", "keys", "dir", "pki", "store", "pushed", "bundle", "shared-with", "bundle from", "sign-elsewhere"} {
		all[name] = folders
	}
	for _, name := range []string{"update", "receipt-key", "part-size", "keep", "within", "watch-xid", "ca-hash", "port", "wait", "user", "peer", "from",
		"timeout", "drain-timeout", "ingress", "node-port", "idle", "encrypt-to", "namespace", "registry", "since", "soak", "of", "prefix", "ignore", "group", "max-failures", "batch",
		"max-unavailable", "until", "hosts", "size", "parity", "set", "url", "as", "require-keys", "limit-rate"} {
		all[name] = cobra.NoFileCompletions
	}
	return all
}

// nameValues returns the completions of flags with names from lists, and of files of any kind.
func nameValues() map[string]cobra.CompletionFunc {
	return map[string]cobra.CompletionFunc{
		"node":                 nodeNames,
		"rpm-key":              anyFile,
		"signer":               anyFile,
		"limit":                listed(localNodes),
		"except":               listed(localNodes),
		"only":                 listed(checks),
		"skip":                 listed(checks),
		"explain":              one(checks),
		"verify only":          listed(rules),
		"verify skip":          listed(rules),
		"baseline":             words(verification.SaveBaseline, verification.CompareBaseline),
		"upgrade skip":         listed(checksAndRules),
		"rollback skip":        listed(checksAndRules),
		"certs rotate-ca only": words(rotation.Authorities()...),
		"certs rotate-ca pods": words(rotation.PodsPolicies()...),
		"ext":                  words(".zip", ".tar", ".bin", ".dat"),
		"pack only":            anyFile,
		"missing":              anyFile,
	}
}

// argumentValues returns the completions of arguments by command. Other commands have no
// arguments, or arguments without completion.
func argumentValues() map[string]cobra.CompletionFunc {
	all := map[string]cobra.CompletionFunc{
		"preflight": func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if reports, _ := cmd.Flags().GetBool("reports"); reports {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return first(folders)(cmd, args, typed)
		},
		"verify": func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if !cmd.Flags().Changed("baseline") {
				return cobra.NoFileCompletions(cmd, args, typed)
			}
			return first(files("json"))(cmd, args, typed)
		},
		"registry prune": storeNames,
		"remove":         allNodeNames,
		"config import":  first(anyFile),
		"export rpm":     folders,
		"survey check":   files("yaml", "survey", "gz"),
	}
	for _, path := range []string{"inspect", "install", "upgrade", "push", "restore", "netprobe listen", "registry import"} {
		all[path] = first(folders)
	}
	for _, path := range []string{"pack", "unpack"} {
		all[path] = folders
	}
	return all
}

// first completes only the first argument.
func first(offer cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return cobra.NoFileCompletions(cmd, args, typed)
		}
		return offer(cmd, args, typed)
	}
}

func only(words ...string) ([]string, cobra.ShellCompDirective) {
	return words, cobra.ShellCompDirectiveNoFileComp
}

func words(all ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

// files completes files with these extensions, and directories.
func files(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

func anyFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// checks returns the IDs and titles of the preflight checks.
func checks() []string {
	var all []string
	for _, c := range preflight.Checks() {
		all = append(all, cobra.CompletionWithDesc(c.ID, c.Title))
	}
	return all
}

// rules returns the IDs and titles of the rules of verify.
func rules() []string {
	var all []string
	for _, r := range verify.Rules(verification.Probes()...) {
		all = append(all, cobra.CompletionWithDesc(r.ID, r.Title))
	}
	return all
}

func checksAndRules() []string { return append(checks(), rules()...) }

func one(ids func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return only(ids()...) }
}

// listed completes the last element of a comma-separated list, without the IDs that the list has
// already. After a comma it offers no titles: with titles, the bash script of cobra searches for
// the typed text with an escaped comma.
func listed(ids func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		given := strings.Split(before, ",")
		var all []string
		for _, id := range ids() {
			name, _, _ := strings.Cut(id, "\t")
			switch {
			case before == "":
				all = append(all, id)
			case !slices.Contains(given, name):
				all = append(all, before+name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
