package runtime

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/host/hosttest"
)

// TestRuntimeKeys compares the lists with the defaults that the real runtimes print.
func TestRuntimeKeys(t *testing.T) {
	tables := func(program string) []string {
		var all map[string]any
		if err := toml.Unmarshal([]byte(hosttest.Output(t, hosttest.LabProgram(t, program), "config", "default")), &all); err != nil {
			t.Fatal(err)
		}
		return paths("", all)
	}
	for name, got := range map[string][]string{
		"containerd2.txt": tables("containerd1/containerd"), "containerd3.txt": tables("containerd/containerd"),
		"crio.txt": crioPaths(hosttest.Output(t, hosttest.LabProgram(t, "crio/crio"), "--config", "", "--config-dir", "", "config")),
	} {
		if len(got) < 50 {
			t.Errorf("%s: %d settings", name, len(got))
		}
		hosttest.Golden(t, filepath.Join("../runtimekeys", name), []byte(strings.Join(got, "\n")+"\n"))
	}
}

func paths(below string, tables map[string]any) []string {
	var all []string
	for name, value := range tables {
		all = append(all, below+name)
		if table, is := value.(map[string]any); is {
			all = append(all, paths(below+name+"\t", table)...)
		}
	}
	slices.Sort(all)
	return all
}

// crioPaths also reads settings in comments: CRI-O prints its defaults as comments.
func crioPaths(text string) []string {
	var all []string
	table := ""
	line := regexp.MustCompile(`(?m)^(?:# )?(?:\[([a-z_.]+)\]|([a-z_]+) = .*)$`)
	for _, found := range line.FindAllStringSubmatch(text, -1) {
		if found[1] != "" {
			table = strings.ReplaceAll(found[1], ".", "\t")
			all = append(all, table)
			continue
		}
		all = append(all, table+"\t"+found[2])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestMisspeltRuntimeSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		runtime   Config
		overrides string
		want      []string
	}{
		"the lab's": {Config{}, `plugins = {"io.containerd.cri.v1.runtime" = {restrict_oom_score_adj = true}}`, nil},
		"all at once": {Config{}, `plugin = {a = 1}
			plugins = {"io.containerd.cri.v1.runtime" = {restrict_oom_score = true, containerd = {default_runtime_nam = "runc", runtimes = {runc2 = {runtime_typ = "x"}}}}, "io.containerd.cri.v1.image" = {}}`,
			[]string{
				`overrides[plugin]: Invalid value: "plugin": the runtime would ignore it; did you mean "plugins"?`,
				`did you mean "io.containerd.cri.v1.images"?`,
				`did you mean "default_runtime_name"?`,
				`did you mean "restrict_oom_score_adj"?`,
			}},
		"of a newer version": {Config{}, `plugins = {"io.containerd.cri.v1.runtime" = {entirely_new_setting = true}, "com.bank.own.v1" = {a = 1}}`, nil},
		"1.7":                {Config{Version: "1.7.35"}, `plugins = {"io.containerd.grpc.v1.cri" = {sandbox_imag = "a"}}`, []string{`did you mean "sandbox_image"?`}},
		"CRI-O":              {Config{Name: "crio"}, `crio = {runtime = {pids_limitt = 1, runtimes = {runk = {}}}, imag = {}}`, []string{`did you mean "image"?`, `did you mean "pids_limit"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.runtime.Default("1.36.3")
			if err := toml.Unmarshal([]byte(tc.overrides), &tc.runtime.Overrides); err != nil {
				t.Fatal(err)
			}
			hosttest.Compare(t, tc.runtime.Validate(field.NewPath("runtime")), tc.want)
		})
	}
}

// TestRuntimeKeysKnowOurs checks that the lists have all settings that airgap writes.
func TestRuntimeKeysKnowOurs(t *testing.T) {
	for _, r := range []Config{{}, {Version: "1.7.35"}, {Name: "crio"}} {
		r.Default("1.36.3")
		files, err := r.engine().files(Options{Runtime: r, Sandbox: "registry.k8s.io/pause:3.10.2", NVIDIA: true, Facts: Facts{Driver: Systemd}})
		if err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(files[r.engine().config], &r.Overrides); err != nil {
			t.Fatal(err)
		}
		if errs := r.misspelt(field.NewPath("overrides")); len(errs) > 0 {
			t.Errorf("%s: %v", r, errs)
		}
	}
}
