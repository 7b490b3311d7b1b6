package exampletest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/replay"
)

const (
	examplesDir = "../../../examples"
	hostsDir    = "../../../preflight/testdata/hosts"
	cardsDir    = "../../../gpu/testdata"
)

// site is an example in use: a directory with airgap.yaml and the files in it, and the facts of its
// servers.
type site struct {
	dir   string
	facts string // directory, or "" without a survey
	env   []string
	flags []string
}

// servers describes the servers of an example. Their facts are created from it.
type servers struct {
	names     []string
	host      string // recorded host
	installed string // installed packages
	cards     string // a recorded PCI tree
	database  string // output of rpm, instead of installed
}

// beside returns the files next to airgap.yaml, which the operators of the sites would provide.
func beside(t testing.TB, u *upstream) map[string][]byte {
	t.Helper()
	public, err := u.key.Public()
	must(t, err)
	subscriber, err := u.redhat.issue("a subscriber")
	must(t, err)
	return map[string][]byte{
		"RPM-GPG-KEY-Rocky-9":        public,
		"RPM-GPG-KEY-redhat-release": public,
		"redhat-uep.pem":             u.redhat.pem(),
		"entitlement.pem":            pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: subscriber.Certificate[0]}),
		"entitlement-key.pem":        keyPEM(t, subscriber.PrivateKey),
		"corporate-ca.pem":           u.company.pem(),
		"artifactory.password":       []byte(password + "\n"),
		"gpu-policy.yaml":            []byte("apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\nspec: {driver: {enabled: true}}\n"),
		"doubtful.yaml":              []byte(doubtful),
		"own-rule.yaml":              []byte(ownRule),
		"calico.yaml": []byte("apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: calico-node, namespace: kube-system}\n" +
			"spec: {template: {spec: {containers: [{name: calico-node, image: 'quay.io/calico/node:v3.31.7'}]}}}\n"),
	}
}

// newSite creates the site of an example. edits are pairs of old and new text in its airgap.yaml.
func newSite(t testing.TB, u *upstream, name string, s servers, edits ...string) site {
	t.Helper()
	text := string(example(t, name))
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			t.Fatalf("%s has no %q to change", name, edits[i])
		}
		text = strings.ReplaceAll(text, edits[i], edits[i+1])
	}
	return layOut(t, u, name, text, s)
}

// layOut creates a site from an airgap.yaml.
func layOut(t testing.TB, u *upstream, name, text string, s servers) site {
	t.Helper()
	dir := t.TempDir()
	here := site{dir: filepath.Join(dir, name)}
	must(t, os.Mkdir(here.dir, 0o755))
	write(t, here.config(), []byte(text))
	for file, content := range beside(t, u) {
		if strings.Contains(text, file) {
			write(t, filepath.Join(here.dir, file), content)
		}
	}
	home, trusted := filepath.Join(dir, "home"), filepath.Join(dir, "trusted.pem")
	must(t, os.Mkdir(home, 0o700))
	write(t, trusted, u.public.pem())
	here.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "HTTPS_PROXY=http://" + user + ":" + password + "@" + u.proxy,
		"SSL_CERT_FILE=" + trusted, "SSL_CERT_DIR=" + home, // CAs that the system of the connected host trusts
	}
	here.dockerLogin(t, home)
	if len(s.names) == 0 {
		return here
	}
	here.facts = filepath.Join(dir, "facts")
	must(t, os.Mkdir(here.facts, 0o755))
	for _, host := range s.names {
		write(t, filepath.Join(here.facts, host+".survey"), s.survey(t, host))
	}
	return here
}

func (s site) config() string { return filepath.Join(s.dir, "airgap.yaml") }

// dockerLogin writes the file that docker login or podman login writes for the images of the company.
func (s *site) dockerLogin(t testing.TB, home string) {
	t.Helper()
	must(t, os.Mkdir(filepath.Join(home, ".docker"), 0o700))
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	write(t, filepath.Join(home, ".docker/config.json"), fmt.Appendf(nil, `{"auths":{"artifactory.corp.example":{"auth":%q}}}`, auth))
}

// signedBy creates a key of the site, and signs the bundle with it.
func (s *site) signedBy(t testing.TB, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	path := filepath.Join(s.dir, file)
	write(t, path, keyPEM(t, key))
	s.flags = append(s.flags, "--sign-key", path)
}

func example(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesDir, name, "airgap.yaml"))
	must(t, err)
	return text
}

// survey returns the output of the survey script on the server with that name.
func (s servers) survey(t testing.TB, name string) []byte {
	t.Helper()
	all := distinct(recording(t, hostsDir, s.host), slices.Index(s.names, name))
	if s.cards != "" {
		all = slices.Concat(all, recording(t, cardsDir, s.cards))
	}
	if s.database == "" {
		s.database = readRecorded(t, filepath.Join("testdata/installed", s.installed+".txt")).database(t)
	}
	return fmt.Appendf(all, "-- fs/proc/sys/kernel/hostname --\n%s\n-- run/rpm -qa --\n%s-- facts/%s --\n-- end/ --\n", name, s.database, strings.Join(facts.Names(), " "))
}

var identities = regexp.MustCompile(`(5f0e3a0f2f9e4a17a1d53c1f4a9b7c|4c4c4544-0051-3010-8052-b4c04f4e31|00:50:56:a1:00:|\b10\.20\.0\.)([0-9a-f]+)`)

// distinct gives a recorded host identifiers of its own: several servers are of the same recording.
func distinct(recording []byte, n int) []byte {
	return identities.ReplaceAllFunc(recording, func(found []byte) []byte {
		of := identities.FindSubmatch(found)
		switch before := string(of[1]); {
		case strings.HasPrefix(before, "10."):
			return fmt.Appendf(nil, "10.20.%d.%s", n, of[2])
		case strings.HasPrefix(before, "00:"):
			return fmt.Appendf(nil, "00:50:56:a1:%02x:%s", n, of[2])
		default:
			return fmt.Appendf(nil, "%s%02x", before, n)
		}
	})
}

func recording(t testing.TB, dir, name string) []byte {
	t.Helper()
	data, err := replay.Recording(os.DirFS(dir), name)
	must(t, err)
	return data
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(path, content, 0o600))
}
