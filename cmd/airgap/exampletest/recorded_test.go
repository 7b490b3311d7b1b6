package exampletest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/internal/nevra"
)

// recorded is a repository, or the installed packages of a host, from a file in testdata. Its lines are
//
//	at URL                  URL of the repository; can be repeated
//	key URL                 URL of the key; otherwise the key is next to airgap.yaml
//	signed                  the metadata are signed
//	NAME-[E:]V-R.ARCH SIZE  a package with its size in bytes; without size if installed
//	  provides A, B = 1     of the package above; also requires, conflicts, obsoletes, files
type recorded struct {
	at       []string
	key      string
	signed   bool
	packages []pkg
}

type pkg struct {
	nevra.NEVRA
	size  int64
	data  []byte // nil: no client fetches the package
	lists map[string][]string
}

func readRecorded(t testing.TB, file string) recorded {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var r recorded
	for line := range strings.Lines(string(text)) {
		inside := strings.HasPrefix(line, "  ")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || line[0] == '#':
		case inside:
			last := r.packages[len(r.packages)-1].lists
			for one := range strings.SplitSeq(strings.TrimSpace(line)[len(words[0]):], ",") {
				last[words[0]] = append(last[words[0]], strings.TrimSpace(one))
			}
		case words[0] == "at":
			r.at = append(r.at, words[1])
		case words[0] == "key":
			r.key = words[1]
		case words[0] == "signed":
			r.signed = true
		default:
			r.packages = append(r.packages, readPackage(t, words))
		}
	}
	return r
}

func readPackage(t testing.TB, words []string) pkg {
	t.Helper()
	n, err := nevra.Parse(words[0])
	must(t, err)
	p := pkg{NEVRA: n, lists: map[string][]string{}}
	p.lists["provides"] = []string{n.Name + " = " + n.EVR.String()}
	if n.Arch == "x86_64" {
		p.lists["provides"] = append(p.lists["provides"], n.Name+"(x86-64) = "+n.EVR.String())
	}
	if len(words) > 1 {
		p.size, err = strconv.ParseInt(words[1], 10, 64)
		must(t, err)
	}
	return p
}

// database returns the output of rpm for the survey of a host with these packages.
func (r recorded) database(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	for _, p := range r.packages {
		fmt.Fprintf(&b, "N\t%s\t%d\t%s\t%s\t%s\n", p.Name, p.Epoch, p.Version, p.Release, p.Arch)
		for _, list := range []string{"provides", "requires", "conflicts", "obsoletes"} {
			for _, text := range p.lists[list] {
				c, err := rpm.ParseCapability(text)
				must(t, err)
				sign, version := "", ""
				if c.Flags != "" {
					_, rest, _ := strings.Cut(text, " ")
					sign, version, _ = strings.Cut(rest, " ")
				}
				fmt.Fprintf(&b, "%s\t%s\t%s\t%s\n", strings.ToUpper(list[:1]), c.Name, sign, version)
			}
		}
		for _, f := range p.lists["files"] {
			fmt.Fprintf(&b, "F\t%s\n", f)
		}
	}
	return b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
