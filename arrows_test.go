// Package airgap_test holds the tests of the house as a whole.
package airgap_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "airgap.dev/airgap"

// allowed has the permitted imports of each package, as in docs/design.md. Every package may
// import the shared packages; cmd/airgap may import everything.
var allowed = map[string][]string{
	"bundle": {"bundle/rpm", "bundle/chart", "bundle/fetch", "bundle/image",
		"bundle/disk", "bundle/prefix", "bundle/workload", "bundle/operators", "bundle/blocktag", "bundle/alteration"},
	"bundle/disk":      {},
	"bundle/operators": {"bundle/workload"},
	"bundle/plan": {"bundle", "bundle/fetch", "bundle/operators", "bundle/rpm", "bundle/workload", "cni", "gpu", "internal/config",
		"kubeadm", "kubeadm/release", "kubeadm/runtime", "manifests", "preflight", "preflight/facts"},
	"bundle/build": {"bundle", "bundle/delta", "bundle/operators", "bundle/plan", "bundle/program", "docs", "internal/config",
		"bundle/destinations", "bundle/fetch", "bundle/medium", "preflight/facts", "bundle/pieces", "internal/media", "bundle/papers"},
	"bundle/chart":   {"bundle/fetch", "bundle/workload"},
	"bundle/delta":   {"bundle", "cluster/site", "registry/trust"},
	"bundle/fetch":   {"bundle/rpm"}, // the type of a login
	"bundle/image":   {"bundle/fetch"},
	"bundle/inspect": {"bundle", "cluster/site", "bundle/sidefiles", "bundle/papers", "bundle/plan"},
	"bundle/matrix":  {"gpu", "internal/config", "kubeadm/release", "preflight"},
	"bundle/push":    {"bundle", "cluster/site", "internal/config", "registry/existing"},
	"bundle/program": {"bundle", "bundle/plan", "bundle/rpm", "cluster/site", "gpu", "gpu/nvml", "kubeadm",
		"kubeadm/backup", "kubeadm/jointoken", "registry", "upkeep", "verify/nodereport", "bundle/papers", "bundle/signing"},
	"bundle/prefix":        {},
	"bundle/dnf":           {"bundle/rpm", "bundle/rpm/rpmfile"},
	"bundle/rpm":           {"bundle/rpm/filelist", "bundle/rpm/markup", "bundle/rpm/metacache", "bundle/rpm/modstream", "bundle/rpm/pgp", "bundle/rpm/rpmfile", "bundle/rpm/sat", "bundle/rpm/unxz"},
	"bundle/rpm/filelist":  {},
	"bundle/rpm/markup":    {},
	"bundle/rpm/metacache": {},
	"bundle/rpm/modstream": {},
	"bundle/rpm/pgp":       {},
	"bundle/rpm/rpmfile":   {"bundle/rpm/filelist"},
	"bundle/rpm/unxz":      {},
	"bundle/rpm/sat":       {},
	"bundle/survey":        {"bundle/plan", "gpu", "preflight/facts"},
	"bundle/workload":      {},
	"bundle/destinations":  {"bundle", "bundle/fetch"},
	"bundle/blocktag":      {},
	"bundle/parts":         {"bundle"},
	"bundle/medium":        {"internal/alike", "preflight", "preflight/facts"},
	"bundle/alteration":    {},
	"bundle/pieces":        {"bundle"},
	"bundle/sidefiles":     {"bundle"},
	"bundle/export":        {"bundle", "bundle/rpm", "cluster/site"},
	"bundle/papers":        {"bundle"},
	"bundle/signing":       {},
	"registry": {"bundle", "bundle/parts", "bundle/sidefiles", "registry/damage", "registry/existing", "registry/files", "registry/garbage",
		"registry/ledger", "registry/names", "registry/trust", "registry/verified"},
	"registry/damage":   {"bundle"},
	"registry/existing": {"bundle", "registry/names"},
	"registry/files":    {},
	"registry/garbage":  {},
	"registry/ledger":   {},
	"registry/mirror":   {"bundle", "registry/existing", "registry/names"},
	"registry/names":    {},
	"registry/verified": {"bundle/blocktag"},
	"registry/trust":    {"bundle"}, // a receipt lists bundles
	"preflight":         {"cni", "internal/nextboot", "internal/sysctld", "preflight/agents", "preflight/facts", "preflight/packetfilter", "preflight/unitfile"},
	"preflight/replay":  {},

	"preflight/agents":       {},
	"preflight/auditrules":   {},
	"preflight/packetfilter": {},
	"preflight/facts": {"gpu/nvml", "internal/nextboot", "internal/sysctld", "preflight/agents", "preflight/auditrules", "preflight/packetfilter",
		"preflight/replay", "preflight/unitfile"},
	"preflight/nameservers": {"preflight/facts"},
	"preflight/podpath":     {"internal/await", "preflight/facts", "preflight/packetfilter"},
	"preflight/unitfile":    {},

	"preflight/netprobe":        {}, // the command passes the data of the hosts
	"preflight/netprobe/agent":  {"preflight/netprobe", "preflight/packetfilter"},
	"preflight/netprobe/client": {},
	"kubeadm": {"internal/await", "internal/overlay", "internal/settings", "kubeadm/drain", "kubeadm/encryption", "kubeadm/etcd", "kubeadm/phases", "kubeadm/jointoken",
		"kubeadm/kube", "kubeadm/leave", "kubeadm/node", "kubeadm/pki", "kubeadm/process", "kubeadm/release", "kubeadm/runtime", "manifests"},
	"kubeadm/backup":     {"bundle", "kubeadm", "kubeadm/etcd", "kubeadm/jointoken"},
	"kubeadm/drain":      {"internal/await", "kubeadm/kube"},
	"kubeadm/encryption": {"internal/await", "kubeadm/phases", "kubeadm/node", "manifests"},
	"kubeadm/phases":     {"kubeadm/kube", "manifests"},
	"kubeadm/jointoken":  {"internal/await", "kubeadm/encryption", "kubeadm/kube", "kubeadm/node", "kubeadm/runtime", "manifests"},
	"kubeadm/kube":       {"manifests"},
	"kubeadm/leave": {"internal/await", "internal/settings", "kubeadm/drain", "kubeadm/encryption", "kubeadm/etcd", "kubeadm/jointoken", "kubeadm/kube", "kubeadm/node",
		"kubeadm/pki", "kubeadm/runtime", "manifests"},
	"kubeadm/node":            {"internal/await", "kubeadm/kube", "kubeadm/process", "kubeadm/runtime"},
	"kubeadm/pki":             {"internal/await", "kubeadm/phases", "kubeadm/jointoken", "kubeadm/kube", "kubeadm/node", "kubeadm/process", "kubeadm/runtime"},
	"kubeadm/etcd":            {},
	"kubeadm/process":         {},
	"kubeadm/release":         {},
	"kubeadm/runtime":         {"internal/await", "internal/overlay", "kubeadm/etcd", "kubeadm/release"},
	"cni":                     {"manifests"},
	"gpu":                     {"manifests"},
	"gpu/nvml":                {},
	"manifests":               {},
	"docs":                    {},
	"upkeep":                  {},
	"verify":                  {"verify/dataplane", "verify/hostlinks", "verify/imagecache", "verify/joinrights", "verify/nodereport", "verify/nodestate", "verify/result"},
	"verify/attribution":      {"verify/result"},
	"verify/dataplane":        {},
	"verify/dataplane/deploy": {"manifests", "verify/dataplane"},
	"verify/hostlinks":        {"verify/nodereport", "verify/result"},
	"verify/imagecache":       {},
	"verify/joinrights":       {},
	"verify/states":           {},
	"verify/nodereport":       {"manifests"},
	"verify/nodestate":        {},
	"verify/result":           {},

	// Packages below cluster/ may import everything outside of it, and of it these.
	"cluster/site":          {},
	"cluster/upgraderecord": {"cluster/site"},
	"cluster/report":        {"cluster/site"},
	"cluster/nodesteps":     {"cluster/report", "cluster/site"},
	"cluster/detach":        {},
	"cluster/hostcheck":     {"cluster/detach", "cluster/fleet/access", "cluster/nodesteps", "cluster/site", "preflight/nameservers", "preflight/podpath"},
	"cluster/certs":         {"cluster/hostcheck", "cluster/journal", "cluster/site"},
	"cluster/compliance":    {"cluster/hostcheck", "cluster/site"},
	"cluster/measure":       {"cluster/fleet/access", "cluster/hostcheck", "cluster/site"},
	"cluster/service":       {"cluster/hostcheck", "cluster/report", "cluster/site"},
	"cluster/verification":  {"cluster/certs", "cluster/nodesteps", "cluster/site", "cluster/owed"},
	"cluster/store":         {"cluster/journal", "cluster/site", "cluster/upgraderecord", "cluster/verification"},
	"cluster/journal":       {"cluster/site"},
	"cluster/dryrun":        {"cluster/hostcheck", "cluster/site"},
	"cluster/join":          {"cluster/detach", "cluster/hostcheck", "cluster/journal", "cluster/nodesteps", "cluster/dryrun", "cluster/site", "cluster/upgraderecord"},
	"cluster/fleet": {"cluster/detach", "cluster/fleet/passwords", "cluster/hostcheck", "cluster/join", "cluster/measure",
		"cluster/nodesteps", "cluster/site", "cluster/fleet/choice", "cluster/owed", "cluster/fleet/access"},
	"cluster/fleet/passwords": {},
	"cluster/install": {"cluster/fleet", "cluster/hostcheck", "cluster/join", "cluster/journal", "cluster/nodesteps", "cluster/dryrun",
		"cluster/site", "cluster/verification", "cluster/fleet/choice", "cluster/owed", "cluster/clusterlock"},
	"cluster/reset": {"cluster/detach", "cluster/hostcheck", "cluster/journal", "cluster/nodesteps", "cluster/site", "cluster/upgraderecord"},
	"cluster/recovery": {"cluster/hostcheck", "cluster/install", "cluster/join", "cluster/journal", "cluster/nodesteps",
		"cluster/dryrun", "cluster/reset", "cluster/site", "cluster/verification", "cluster/clusterlock", "cluster/upgraderecord"},
	"cluster/removal": {"cluster/fleet", "cluster/hostcheck", "cluster/join", "cluster/journal", "cluster/nodesteps",
		"cluster/site", "cluster/verification", "cluster/owed", "cluster/fleet/access", "cluster/clusterlock"},
	"cluster/upgrade": {"cluster/fleet", "cluster/hostcheck", "cluster/install", "cluster/join", "cluster/journal", "cluster/nodesteps",
		"cluster/recovery", "cluster/site", "cluster/upgraderecord", "cluster/verification", "cluster/clusterlock", "cluster/fleet/choice", "cluster/owed"},
	"cluster/runreport": {"cluster/fleet", "cluster/hostcheck", "cluster/site"},
	"cluster/rotation":  {"cluster/fleet", "cluster/hostcheck", "cluster/join", "cluster/journal", "cluster/site", "cluster/upgraderecord", "cluster/clusterlock"},
	"cluster/gpustatus": {"cluster/report"},
	"cluster/status": {"cluster/certs", "cluster/fleet", "cluster/hostcheck", "cluster/install", "cluster/join", "cluster/report",
		"cluster/site", "cluster/store", "cluster/verification", "cluster/fleet/choice", "cluster/owed", "cluster/clusterlock"},
	"cluster/support": {"cluster/certs", "cluster/gpustatus", "cluster/hostcheck", "cluster/report",
		"cluster/site", "cluster/status", "cluster/verification", "cluster/fleet"},
	"cluster/fleet/choice": {},
	"cluster/owed":         {"cluster/site"},
	"cluster/resetall":     {"cluster/clusterlock", "cluster/fleet", "cluster/hostcheck", "cluster/reset", "cluster/site"},
	"cluster/fleet/access": {"cluster/site"},
	"cluster/clusterlock":  {},

	"internal/advice":           {},
	"internal/await":            {},
	"internal/cryptopolicy":     {"internal/enterprise"},
	"internal/enterprise":       {},
	"internal/exitcode":         {},
	"internal/config/inventory": {"internal/advice", "internal/config", "internal/host", "internal/hostrange", "internal/remote", "internal/ui", "internal/yamlfault"},
	"internal/hostrange":        {},
	"internal/config": {"bundle", "bundle/fetch", "bundle/rpm", "cni", "gpu", "internal/advice", "internal/hostrange", "internal/remote", "internal/settings",
		"internal/ui", "internal/yamlfault", "kubeadm", "kubeadm/backup", "kubeadm/runtime", "preflight", "registry", "internal/batches", "internal/media", "internal/host"},
	"internal/host":        {},
	"internal/imagedigest": {},
	"internal/httpclient":  {"internal/advice"},
	"internal/listen":      {},
	"internal/nevra":       {},
	"internal/nextboot":    {"internal/host", "internal/nevra"},
	"internal/outlier":     {"internal/hostrange", "internal/ui"},
	"internal/output":      {},
	"internal/overlay":     {},
	"internal/peercert":    {},
	"internal/prose":       {},
	"internal/redact":      {},
	"internal/reference":   {},
	"internal/remote":      {"internal/host"},
	"internal/settings":    {"internal/host", "internal/nextboot", "internal/step", "internal/sysctld"},
	"internal/step":        {"internal/host"}, // to write its journal durably
	"internal/sysctld":     {"internal/nextboot"},
	"internal/ui":          {"internal/advice"},
	"internal/validity":    {},
	"internal/version":     {},
	"internal/yamlfault":   {},
	"internal/alike":       {"internal/hostrange", "internal/ui"},
	"internal/sshconfig":   {"internal/host"},
	"internal/batches":     {"internal/advice", "internal/hostrange", "internal/ui"},
	"internal/stop":        {},
	"internal/loginfile":   {},
	"internal/altered":     {},
	"internal/media":       {"internal/ui"},
}

var shared = []string{"internal/advice", "internal/altered", "internal/cryptopolicy", "internal/enterprise", "internal/host", "internal/hostrange", "internal/httpclient",
	"internal/imagedigest", "internal/listen", "internal/loginfile", "internal/nevra", "internal/nextboot", "internal/outlier", "internal/output",
	"internal/peercert", "internal/reference", "internal/step", "internal/ui", "internal/validity", "internal/version", "internal/yamlfault"}

// orchestration is the layer between the commands and the packages that each know one thing.
const orchestration = "cluster/"

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImportsFollowTheArrows(t *testing.T) {
	for _, p := range list(t) {
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		if from == module || strings.HasPrefix(from, "cmd/") || strings.HasSuffix(from, "test") {
			continue // these tests; commands, which import everything; bundletest and its like
		}
		to, known := allowed[from]
		if !known {
			t.Errorf("%s is a new package: add its permitted imports to arrows_test.go and docs/design.md", from)
			continue
		}
		if !strings.HasPrefix(from, "internal/") {
			to = append(slices.Clone(to), shared...)
		}
		for _, imported := range p.Imports {
			name, ours := strings.CutPrefix(imported, module+"/")
			if strings.HasPrefix(from, orchestration) && !strings.HasPrefix(name, orchestration) {
				continue
			}
			if ours && !slices.Contains(to, name) {
				t.Errorf("%s imports %s; the arrows allow it only %v", from, name, to)
			}
		}
	}
}

// TestOnlyCommandsExit looks for the calls that print to stdout or exit.
func TestOnlyCommandsExit(t *testing.T) {
	out, err := exec.Command("grep", "-rlE", `\b(os\.Exit|log\.Fatal|fmt\.Print(f|ln)?)\(`, "--include=*.go", "--exclude=*_test.go",
		"bundle", "registry", "preflight", "kubeadm", "cni", "gpu", "manifests", "verify", "upkeep", "cluster", "internal").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return // nothing found
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Errorf("only cmd/ may print to stdout or exit:\n%s", out)
}

func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
