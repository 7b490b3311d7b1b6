package preflight

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/facts"
)

const factsPackage = "airgap.dev/airgap/preflight/facts"

// importing has the packages that a type check of preflight and facts needs. The others are empty: the
// errors about their names do not matter.
type importing struct {
	standard types.Importer
	known    map[string]*types.Package
}

func (i importing) Import(name string) (*types.Package, error) {
	if i.known[name] == nil {
		if slices.Contains([]string{"slices", "maps", "cmp"}, name) {
			return i.standard.Import(name)
		}
		i.known[name] = types.NewPackage(name, path.Base(name))
		i.known[name].MarkComplete()
	}
	return i.known[name], nil
}

// uses are the functions and fields that each function uses: "facts.Facts.Unit", "preflight.judgeSwap",
// and for the check with an ID: "check swap".
func uses(t *testing.T) map[string]map[string]bool {
	t.Helper()
	positions := token.NewFileSet()
	imports := importing{importer.ForCompiler(positions, "source", nil), map[string]*types.Package{}}
	all := map[string]map[string]bool{}
	for _, dir := range []string{"facts", "."} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		var files []*ast.File
		for _, name := range names {
			if !strings.HasSuffix(name, "_test.go") {
				file, err := parser.ParseFile(positions, name, nil, 0)
				require.NoError(t, err)
				files = append(files, file)
			}
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
		name := map[string]string{"facts": factsPackage, ".": "airgap.dev/airgap/preflight"}[dir]
		checked, _ := (&types.Config{Importer: imports, Error: func(error) {}}).Check(name, positions, files, info)
		imports.known[name] = checked
		for _, file := range files {
			for _, d := range file.Decls {
				addUses(t, info, d, all)
			}
		}
	}
	return all
}

// addUses adds a function, or the function Run of a check's variable.
func addUses(t *testing.T, info *types.Info, d ast.Decl, all map[string]map[string]bool) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Body != nil {
			all[nameOf(info.Defs[d.Name])] = used(info, d.Body)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			v, is := s.(*ast.ValueSpec)
			if !is || len(v.Values) != 1 {
				continue
			}
			c, is := v.Values[0].(*ast.CompositeLit)
			if !is || !isIdent(c.Type, "Check") {
				continue
			}
			fields := map[string]ast.Expr{}
			for _, e := range c.Elts {
				fields[e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name] = e.(*ast.KeyValueExpr).Value
			}
			id, err := strconv.Unquote(fields["ID"].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all["check "+id] = used(info, fields["Run"])
		}
	}
}

func used(info *types.Info, body ast.Node) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				names[typeName(s.Recv())+"."+s.Obj().Name()] = true
			}
		case *ast.Ident:
			if f, is := info.Uses[n].(*types.Func); is {
				names[nameOf(f)] = true
			}
		}
		return true
	})
	return names
}

// nameOf is "facts.Facts.Unit" for a method, and "preflight.judgeSwap" for a function.
func nameOf(o types.Object) string {
	if f, is := o.(*types.Func); is && f.Signature().Recv() != nil {
		return typeName(f.Signature().Recv().Type()) + "." + f.Name()
	}
	if o == nil || o.Pkg() == nil {
		return ""
	}
	return o.Pkg().Name() + "." + o.Name()
}

func typeName(of types.Type) string {
	if p, is := of.(*types.Pointer); is {
		of = p.Elem()
	}
	if n, is := of.(*types.Named); is {
		return nameOf(n.Obj())
	}
	return ""
}

// reach are all functions and fields that a check uses, also in the functions that it calls.
func reach(uses map[string]map[string]bool, check string) map[string]bool {
	all, next := map[string]bool{}, []string{check}
	for len(next) > 0 {
		of := next[0]
		next = next[1:]
		for name := range uses[of] {
			if !all[name] {
				all[name] = true
				next = append(next, name)
			}
		}
	}
	return all
}

// notWatched are the checks that use the state of the next boot, and which the report of a node does not
// judge, with the reason.
func notWatched() map[string]string {
	const (
		warns   = "on a running node it never fails"
		sysctls = "settings.DriftedSysctls reports these parameters"
		before  = "it is about the installation"
		units   = "its files apply when a unit restarts, too; the report has the effective settings of units"
	)
	return map[string]string{
		"ip-forward": sysctls, "bridge-nf": sysctls, "kernel-defaults": sysctls, "inotify": sysctls, "local-ports": sysctls,
		"antivirus": warns, "arp-sysctl": warns, "boot-commands": warns, "conntrack": warns, "fips": warns, "hidepid": warns, "limits": warns,
		"networkmanager": warns, "storage-clients": warns, "time-sync": warns, "unit-files": warns, "fapolicyd": warns, "file-scans": warns,
		"old-cluster": before, "usb-drives": before, "umask": units, "login-session": units,
		"hosts-file":         "the check hostname judges the name of the next boot",
		"firewalld":          "the part network of the report has firewalld's state",
		"auditd":             "it judges files, and what auditd has loaded is not known",
		"nft-foreign":        "the rules of a running node are too many to list every ten minutes; verify tries the way of packets",
		"segmentation-agent": "saved rules only tell it which chains the site has made",
	}
}

// TestBootStateIsWatched: a check that judges the next boot is watched, or has a reason. The state of the
// next boot is in these fields of the facts.
func TestBootStateIsWatched(t *testing.T) {
	uses, watched, excluded := uses(t), map[string]bool{}, notWatched()
	for _, c := range watchedChecks() {
		watched[c.ID] = true
	}
	boot := []string{"facts.Facts.Boot", "facts.Facts.BootMounts", "facts.Sysctl.Boot", "facts.Unit.Enabled", "facts.PacketRules.Saved", "facts.Facts.UnitFiles"}
	found := 0
	for _, c := range Checks() {
		if c.CrossHost {
			continue // they judge a measurement between hosts, and no facts
		}
		require.NotNil(t, uses["check "+c.ID], c.ID)
		all := reach(uses, "check "+c.ID)
		judges := slices.ContainsFunc(boot, func(field string) bool { return all[field] })
		reason := excluded[c.ID]
		switch {
		case judges:
			found++
			assert.True(t, watched[c.ID] != (reason != ""), "%s judges the next boot: add it to watchedChecks, or a reason to notWatched (not both)", c.ID)
		default:
			assert.Empty(t, reason, "%s does not judge the next boot", c.ID)
		}
		delete(excluded, c.ID)
	}
	assert.Empty(t, excluded, "no such checks")
	assert.Greater(t, found, 30)
}

// withoutNeed are uses without a need, with the reason.
func withoutNeed() map[string]string {
	const (
		names    = "it only names the rule that drops packets: without the fact the check fails, too"
		itself   = "the check itself answers unknown, if the bundle has such volumes"
		watching = "only on a running node, where watchedChecks adds the need"
	)
	return map[string]string{
		"kernel-modules Boot.Loads": watching,
		"pod-path Facts.Iptables":   names, "pod-path Facts.Units": names, "pod-path PacketRules.Now": names,
		"cidr-overlap Facts.Rules":       "the check policy-routing answers unknown",
		"storage-clients Facts.Packages": itself, "storage-clients Facts.Units": itself,
	}
}

// TestNeedsAreFacts: a check that uses one of these facts needs it, so that an unreadable fact is no pass.
func TestNeedsAreFacts(t *testing.T) {
	uses := uses(t)
	fields := map[string]string{
		"Facts.Units": "units", "Facts.Modules": "modules", "Facts.Swap": "swap", "Facts.Audit": "audit", "Facts.Agents": "agents", "Facts.Manager": "manager", "Facts.Cgroup": "cgroup",
		"Facts.Umask": "umask", "Facts.FileScans": "fileScans", "Facts.Multipath": "multipath", "Facts.Directories": "directories", "Facts.UnitFiles": "unitFiles", "Facts.Sysctls": "sysctls",
		"Facts.Filtering": "filtering", "Facts.USBBlocked": "usb", "Facts.Listening": "listening", "Facts.Leftovers": "leftovers", "Facts.Accounts": "accounts", "Facts.Hosts": "hosts",
		"Facts.Packages": "packages", "Facts.Links": "links", "Facts.Routes": "routes", "Facts.Rules": "rules", "Facts.Filesystems": "filesystems", "Facts.BootMounts": "bootMounts",
		"Facts.Tuned": "tuned", "Facts.Programs": "programs", "Facts.Runtimes": "runtimes", "Facts.Certificates": "certificates", "Facts.PCI": "pci", "Facts.Tools": "tools",
		"Facts.Frozen": "frozen", "Facts.Iptables": "iptables", "Facts.ProcMount": "procMount", "Facts.Identity": "identity", "Facts.Memory": "memory", "Facts.CPUs": "cpus",
		"PacketRules.Saved": "savedRules", "PacketRules.Now": "packetRules", "Boot.Swap": "bootSwap", "Boot.Commands": "bootCommands", "Boot.Blocked": "blocked", "Boot.Modules": "bootModules",
		"Boot.SELinux": "bootSELinux", "Boot.Hostname": "bootHostname", "Boot.Loads": "modulesLoad", "Boot.Entry": "nextKernel",
	}
	for _, c := range Checks() {
		all := reach(uses, "check "+c.ID)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if fact := fields[field]; all["facts."+field] && !slices.Contains(c.Needs, fact) && withoutNeed()[c.ID+" "+field] == "" {
				t.Errorf("%s uses %s, and does not need the fact %s", c.ID, field, fact)
			}
		}
	}
}

// TestWatchedFacts: a running node reads all facts that its checks need. Without one, judge would skip the
// check.
func TestWatchedFacts(t *testing.T) {
	f, err := facts.GatherNextBoot(t.Context(), replayed(t, "rocky9"))
	require.NoError(t, err)
	for _, c := range watchedChecks() {
		assert.Empty(t, f.NotSurveyed(c.Needs...), c.ID)
	}
}
