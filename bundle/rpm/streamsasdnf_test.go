package rpm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm/rpmtest"
)

// streamCase has the builds of modules and their states on the server: "app:s:1 el9 n=s1,s2; n:s1:1 el9" and
// "app=enabled:s n=default:s1". A build requires a platform, and streams of other modules. n= is any stream.
type streamCase struct{ builds, states string }

// modules are the documents of the case, with one package for each build, NAME-VERSION.
func (c streamCase) modules() (documents string, packages []pkg) {
	for build := range strings.SplitSeq(c.builds, "; ") {
		words := strings.Fields(build)
		id := strings.Split(words[0], ":")
		requires := "platform: [" + words[1] + "]"
		for _, w := range words[2:] {
			module, streams, _ := strings.Cut(w, "=")
			requires += ", " + module + ": [" + streams + "]"
		}
		version := strings.TrimPrefix(id[1], "s") + id[2] // of stream s2, version 1: 21
		nevra := id[0] + "-" + version + "-1.module+el9.x86_64"
		packages = append(packages, pkg{nevra: nevra})
		documents += strings.Replace(moduleDocumentOf(words[0]+":c"+version, requires, strings.Replace(nevra, "-", "-0:", 1)),
			"  dependencies:", "  summary: m\n  description: m\n  license: {module: [MIT]}\n  dependencies:", 1)
	}
	for module, state := range c.each() {
		if stream, is := strings.CutPrefix(state, "default:"); is {
			documents += "---\ndocument: modulemd-defaults\nversion: 1\ndata: {module: " + module + ", stream: " + stream + "}\n"
		}
	}
	return documents, packages
}

func (c streamCase) each() map[string]string {
	all := map[string]string{}
	for word := range strings.FieldsSeq(c.states) {
		module, state, _ := strings.Cut(word, "=")
		all[module] = state
	}
	return all
}

// enabled has the streams that the server's dnf has enabled; "" is a disabled module.
func (c streamCase) enabled() map[string]string {
	all := map[string]string{}
	for module, state := range c.each() {
		if stream, is := strings.CutPrefix(state, "enabled:"); is {
			all[module] = stream
		} else if state == "disabled" {
			all[module] = ""
		}
	}
	return all
}

// streamCases combine the builds of a module that requires another one with the states of both.
func streamCases() []streamCase {
	const n = "; n:s1:1 el9; n:s2:1 el9"
	var all []streamCase
	for _, builds := range []string{
		"app:s:1 el9; app:s:2 el9 n=s1", "app:s:1 el9 n=s1; app:s:2 el9", "app:s:1 el9 n=s1; app:s:2 el9 n=s2", "app:s:1 el9 n=s2; app:s:2 el9 n=s1",
		"app:s:1 el9 n=s1,s2", "app:s:1 el9 n=s2,s1", "app:s:1 el9 n=", "app:s:1 el9 n=-s1", "app:s:1 el9 n=-s1,-s2", "app:s:1 el9; app:s:2 el9 n=",
		"app:s:1 el9 n=; app:s:2 el9", "app:s:1 el9 n=s1; app:s:2 el9 n=s1,s2",
	} {
		for _, app := range []string{"app=enabled:s", "app=default:s"} {
			for _, other := range []string{"", " n=enabled:s1", " n=enabled:s2", " n=default:s1", " n=default:s2", " n=disabled"} {
				all = append(all, streamCase{builds + n, app + other})
			}
		}
	}
	for _, builds := range []string{
		"app:s:1 el8", "app:s:1 el9; app:s:2 el8", "app:s:1 el8; app:s:2 el9", "app:s:1 el9; app:s:2 el9", "app:s:1 el9 n=s1", "app:s:1 el9 n=s1; app:s:2 el9",
		"app:s:1 el9; app:s:2 el9 n=s1; app:s:3 el8", "app:s:1 el8; app:s:2 el9 n=s1; app:s:3 el9",
	} {
		all = append(all, streamCase{builds, "app=enabled:s"}, streamCase{builds, "app=default:s"})
	}
	for _, states := range []string{
		"app=enabled:s n=enabled:s1 z=enabled:s", "app=enabled:s n=enabled:s1 z=default:s", "app=default:s n=enabled:s1 z=enabled:s",
		"app=enabled:s z=enabled:s", "app=enabled:s n=default:s1 z=default:s", "z=default:s n=default:s1", "z=enabled:s n=default:s1",
	} {
		all = append(all, streamCase{"app:s:1 el9 n=-s1; z:s:1 el9" + n, states}, streamCase{"app:s:1 el9 n=s2; z:s:1 el9 n=s1" + n, states},
			streamCase{"app:s:1 el8; z:s:1 el9 n=-s1" + n, states}, streamCase{"app:s:1 el9 b=s; z:s:1 el9" + n, states})
	}
	return all
}

// TestStreamsAsDNF: airgap and dnf show the same packages of module streams. AIRGAP_STREAMS=all compares all cases.
func TestStreamsAsDNF(t *testing.T) {
	rpmtest.Need(t, "rpm", "dnf")
	cases := streamCases()
	if os.Getenv("AIRGAP_STREAMS") != "all" {
		cases = slices.DeleteFunc(cases, func(c streamCase) bool { return len(c.builds+c.states)%4 > 0 })
	}
	args := []string{"testdata/dnfstreams.py", t.TempDir()}
	for _, c := range cases {
		root, dir := t.TempDir(), t.TempDir()
		documents, packages := c.modules()
		up := web{}
		up.publishModules(t, "https://upstream/", aKey(), documents, packages...)
		for url, data := range up {
			rpmtest.Write(t, filepath.Join(dir, strings.TrimPrefix(url, "https://upstream/")), data)
		}
		for module, stream := range c.enabled() {
			state := map[bool]string{true: "disabled", false: "enabled"}[stream == ""]
			rpmtest.Write(t, filepath.Join(root, "etc/dnf/modules.d", module+".module"), fmt.Appendf(nil, "[%s]\nname=%[1]s\nstream=%s\nprofiles=\nstate=%s\n", module, stream, state))
		}
		writeDatabase(t, root, map[*entry][]string{})
		args = append(args, root, dir)
	}
	cmd := exec.Command("/usr/bin/python3", args...)
	cmd.Env = append(os.Environ(), "HOME="+rpmHome)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(strings.NewReader(string(out)))
	for _, c := range cases {
		var theirs []string
		if err := answers.Decode(&theirs); err != nil {
			t.Fatal(err)
		}
		if ours := c.shown(t); !slices.Equal(ours, theirs) {
			t.Errorf("%s | %s: airgap shows %v, dnf %v", c.builds, c.states, ours, theirs)
		}
	}
}

// shown are the packages of active builds.
func (c streamCase) shown(t *testing.T) []string {
	t.Helper()
	documents, _ := c.modules()
	all, err := parseModules(strings.NewReader(documents))
	if err != nil {
		t.Fatal(err)
	}
	builds, _ := all.active(c.enabled(), nil, "el9", "x86_64")
	names := []string{}
	for _, b := range builds {
		for _, rpm := range b.Artifacts.RPMs {
			name, _, _ := strings.Cut(strings.Replace(rpm, "-0:", "-", 1), "-1.module")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
