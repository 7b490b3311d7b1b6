package docs

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// koreanPages returns the text of each Korean page by its path in the repository.
func koreanPages(t *testing.T) map[string]string {
	t.Helper()
	readme, err := os.ReadFile("../README.ko.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{"README.ko.md": string(readme)}
	err = fs.WalkDir(files, "ko", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, file)
		pages["docs/"+file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestKoreanComments: the comments in code blocks of Korean pages are in Korean.
func TestKoreanComments(t *testing.T) {
	comments := 0
	for file, text := range koreanPages(t) {
		outline, _ := parts([]byte(text))
		for _, part := range outline {
			code, is := strings.CutPrefix(part, "code ")
			if !is {
				continue
			}
			for line := range strings.Lines(code) {
				_, comment := cutComment(strings.TrimSuffix(line, "\n"))
				switch {
				case comment == "" || strings.HasPrefix(comment, "yaml-language-server: "): // an editor reads the latter
				case !korean.MatchString(comment):
					t.Errorf("%s: write the comment in Korean: %s", file, line)
				default:
					comments++
				}
			}
		}
	}
	if comments < 150 {
		t.Errorf("got %d comments, want at least 150", comments)
	}
}

// A reading is the end of a word as Koreans read it, which decides about the particle.
type reading struct{ words, particles string }

// readings has words that precede particles in the pages, above all those whose spelling misleads.
var readings = []reading{
	{"API CA CPU DNS GPU IP IPv6 MTU NIC SELinux SSH TLS UDP USB VIP certs chronyd containerd dnf etcd fapolicyd firewalld force ip list node ok " +
		"reboot registry remove restart restore root service source status upgrade verify vip wait", "는 가 를 와 로 라고"},
	{"10m 5m Cilium VXLAN backup conntrack drain exec join kubelet noexec plan podman reset rollback rpm runtime setup skip swap timeout " +
		"token traffic version versionlock", "은 이 을 과 으로 이라고"},
	{"DIR FILE URL bundle curl file flannel install kubectl role systemctl tunnel yaml", "은 이 을 과 로 이라고"},
}

var particle = regexp.MustCompile("([A-Za-z0-9]+)[`\"]?(은|는|이|가|을|를|과|와|으로|로|이라고|라고)(?:[^\\p{Hangul}]|$)")

// TestKoreanParticles: a particle fits the reading of the word before it.
func TestKoreanParticles(t *testing.T) {
	fitting := map[string][]string{}
	for _, r := range readings {
		for word := range strings.FieldsSeq(r.words) {
			fitting[word] = strings.Fields(r.particles)
		}
	}
	found := 0
	for file, text := range koreanPages(t) {
		for _, match := range particle.FindAllStringSubmatch(text, -1) {
			particles, known := fitting[match[1]]
			if !known {
				continue
			}
			found++
			if !slices.Contains(particles, match[2]) {
				t.Errorf("%s: %q: the particle does not fit the reading of the word", file, strings.TrimSpace(match[0]))
			}
		}
	}
	if found < 1000 {
		t.Errorf("got %d particles, want at least 1000", found)
	}
}
