package facts

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight/unitfile"
)

func FuzzOSRelease(f *testing.F) {
	f.Add("ID=\"rocky\"\nVERSION_ID=\"9.6\"\n")
	f.Add("ID='\nVERSION_ID=-1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if el := parseOSRelease(text).Enterprise(); el != "" && !strings.HasPrefix(el, "el") {
			t.Errorf("%q is %q", text, el)
		}
	})
}

// FuzzPackages: packages from any output of rpm survive a survey.
func FuzzPackages(f *testing.F) {
	f.Add(rpmOutput)
	f.Add("N\ta\t0\t1\t1\tnoarch\nP\t(a = 1\t\t\n")
	f.Fuzz(func(t *testing.T, text string) {
		packages, _, err := parsePackages(text)
		if err != nil {
			return
		}
		for _, p := range packages {
			for _, c := range slices.Concat(p.Provides, p.Requires, p.Conflicts, p.Obsoletes) {
				var back Capability
				if err := back.UnmarshalText([]byte(c.String())); err != nil || back.String() != c.String() {
					t.Errorf("%q comes back as %q, %v", c, back, err)
				}
			}
		}
	})
}

func FuzzSockets(f *testing.F) {
	f.Add("heading\n 0: 0100007F:1F90 00000000:0000 0A\n")
	f.Add("heading\n 0: 00000000000000000000000001000000:0016 0:0 0A\n")
	f.Fuzz(func(t *testing.T, text string) {
		listeners, err := parseSockets("tcp", text)
		for _, l := range listeners {
			if err == nil && (!l.Address.IsValid() || l.Port < 0 || l.Port > 65535) {
				t.Errorf("%q gives %+v", text, l)
			}
		}
	})
}

func FuzzIP(f *testing.F) {
	f.Add(`[{"ifname":"lo","addr_info":[{"local":"127.0.0.1","prefixlen":8}]}]`)
	f.Add(`[{"dst":"default","gateway":"10.0.0.1","dev":"eth0"}]`)
	f.Add(`[{"addr_info":[{"local":"::1","prefixlen":-5}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		links, err := parseLinks(text)
		for _, l := range links {
			for _, a := range l.Addresses {
				if err == nil && !a.IsValid() {
					t.Errorf("%q gives address %v", text, a)
				}
			}
		}
		routes, err := parseRoutes(text, false)
		for _, r := range routes {
			if err == nil && !r.To.IsValid() {
				t.Errorf("%q gives route to %v", text, r.To)
			}
		}
	})
}

func FuzzMount(f *testing.F) {
	f.Add(`36 35 98:0 / /mnt\040two rw - ext3 /dev/root rw`)
	f.Fuzz(func(t *testing.T, line string) {
		if m, err := parseMount(line); err == nil && m.fsType == "" {
			t.Errorf("%q gives %+v", line, m)
		}
	})
}

// FuzzShadow: accounts have the name of a wanted user, and a line of the file.
func FuzzShadow(f *testing.F) {
	f.Add("root:$6$hash:20000:0:99999:7:::\nops:!:-5::999999999999:::1:\n")
	f.Fuzz(func(t *testing.T, text string) {
		accounts, odd := parseShadow(text, "root", userName(text, "0"))
		for _, a := range accounts {
			if a.Line < 1 || a.Line > strings.Count(text, "\n")+1 || a.Password == "" || min(a.Changed, a.Max, a.Expires) < -1 {
				t.Errorf("%q gives %+v", text, a)
			}
		}
		if len(accounts)+len(odd) > 2 {
			t.Errorf("%q gives %+v and %q", text, accounts, odd)
		}
	})
}

// FuzzEnvironment: the variables of any file have its lines in their order, and bounded text.
func FuzzEnvironment(f *testing.F) {
	f.Add("KUBELET_X=y\nhttps_proxy=http://u:p@h\n")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		for _, s := range readEnvironment(unitfile.File{}, text).Settings {
			if s.Line <= last || s.Line > strings.Count(text, "\n")+1 || len(s.Value) > 500 {
				t.Errorf("%q gives %+v", text, s)
			}
			last = s.Line
		}
	})
}

func FuzzFacts(f *testing.F) {
	f.Add([]byte("schema: 1\nhost: a\nos: {id: rocky, versionID: '9.6'}\npackages: [{name: a, provides: [a = 1]}]\n"))
	f.Add([]byte("a: &a [*a, *a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := ReadFacts(bytes.NewReader(text))
		if err != nil {
			return
		}
		var written bytes.Buffer
		if err := facts.Write(&written); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadFacts(&written); err != nil {
			t.Error(err)
		}
	})
}
