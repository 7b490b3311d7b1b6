//go:build ignore

// Arguments prints the names of the arguments of the control plane's programs, by program.
// It runs in the module of a recipe, which selects the minor.
package main

import (
	"encoding/json"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/cli/flag"
	_ "k8s.io/component-base/logs/json/register" // registers further arguments
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

func main() {
	managers, err := manager.NewKubeControllerManagerOptions()
	if err != nil {
		log.Fatal(err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(map[string][]string{
		"kube-apiserver":          names(apiserver.NewServerRunOptions().Flags()),
		"kube-controller-manager": names(managers.Flags(nil, nil, nil)),
		"kube-scheduler":          names(*scheduler.NewOptions().Flags),
	}); err != nil {
		log.Fatal(err)
	}
}

// names returns the names in all sets, and the two that every program adds.
func names(sets flag.NamedFlagSets) []string {
	all := map[string]bool{"help": true, "version": true}
	for _, set := range sets.FlagSets {
		set.VisitAll(func(f *pflag.Flag) { all[strings.ReplaceAll(f.Name, "_", "-")] = true })
	}
	return slices.Sorted(maps.Keys(all))
}
