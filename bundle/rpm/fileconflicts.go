package rpm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm/filelist"
	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/internal/nevra"
)

// fileConflicts are the results of a search for files that rpm would refuse, because two packages have them.
type fileConflicts struct {
	problems []string // what rpm refuses for certain
	notices  []string // what only the test on the server can tell
}

// owner is a chosen package that has a file.
type owner struct {
	by   *entry
	kind filelist.Kind
}

// pair is a chosen package, and another package with files under the same paths: another chosen one, or one that is
// installed. old has its files; nil if they are only known from the survey.
type pair struct {
	by, old *entry
	have    nevra.NEVRA // the installed package; zero for a chosen one
}

// fileSearch compares the files of the chosen packages with those of each server.
//
// The files come from the file lists of the repositories. airgap has them already for repositories with chosen
// packages, and fetches the others only if they have an installed package. It keeps the paths of the chosen
// packages and the common paths. Of two packages with a common path it reads the headers, which are at the start of
// their files, because rpm accepts files that are the same.
type fileSearch struct {
	u       *universe
	servers []*surveyed
	chosen  map[*entry]*usage
	files   map[string][]owner
	common  map[pair][]string
	headers map[*entry]*rpmfile.Header // nil if it cannot be read
}

// maxHeaderReads bounds the headers that are read: real plans need fewer than ten.
const maxHeaderReads = 100

// fileConflicts searches the packages of the plan. Without a package to install it reads nothing.
func (n *union) fileConflicts(ctx context.Context, systems []system, packages []Package) (fileConflicts, error) {
	var found fileConflicts
	if len(n.packages) == 0 {
		return found, nil
	}
	s := &fileSearch{u: n.universe, chosen: n.packages, files: map[string][]owner{}, common: map[pair][]string{}, headers: map[*entry]*rpmfile.Header{}}
	for _, system := range systems {
		if server, is := system.(*surveyed); is {
			s.servers = append(s.servers, server)
		}
	}
	if err := s.readChosen(packages); err != nil {
		return found, err
	}
	lists := s.lists()
	if err := s.readInstalled(ctx, lists); err != nil {
		return found, err
	}
	found.notices = s.readSurveys(lists)
	for _, p := range slices.SortedFunc(maps.Keys(s.common), comparePairs) {
		problem, notice := s.judge(ctx, p, s.common[p])
		if problem != "" {
			found.problems = append(found.problems, problem)
		}
		if notice != "" {
			found.notices = append(found.notices, notice)
		}
	}
	return found, ctx.Err()
}

func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.by.String(), b.by.String()), cmp.Compare(a.other(), b.other()))
}

// other names the second package.
func (p pair) other() string {
	if p.have.Name != "" {
		return p.have.People()
	}
	return p.old.People()
}

// readChosen collects the files of the chosen packages, and the pairs among them.
func (s *fileSearch) readChosen(packages []Package) error {
	byID := map[string]*entry{}
	for e := range s.chosen {
		byID[e.id()] = e
	}
	for _, p := range packages {
		e := byID[p.SHA256]
		if e == nil {
			continue
		}
		if p.filelists == nil { // primary has only programs and files in /etc
			for _, path := range e.files {
				s.add(e, path, filelist.File)
			}
		}
		err := filelist.Each(p.filelists, func(path []byte, kind filelist.Kind) { s.add(e, string(path), kind) })
		if err != nil {
			return fmt.Errorf("read the files of %s: %w", p, err)
		}
	}
	return nil
}

// add adds a file of a chosen package.
func (s *fileSearch) add(e *entry, path string, kind filelist.Kind) {
	key := filelist.Merged(path)
	for _, o := range s.files[key] {
		if o.kind.Meets(kind) && o.by != e && s.together(o.by, e) {
			at := pair{by: e, old: o.by}
			s.common[at] = append(s.common[at], key)
		}
	}
	s.files[key] = append(s.files[key], owner{e, kind})
}

// together reports whether one server gets both packages.
func (s *fileSearch) together(a, b *entry) bool {
	x, y := s.chosen[a].hosts, s.chosen[b].hosts
	if len(x) == 0 || len(y) == 0 {
		return true // of the profile
	}
	for host := range x {
		if y[host] {
			return true
		}
	}
	return false
}

// lists returns the package in a repository whose files stand for those of each installed package: the same build, or
// else the newest other build.
func (s *fileSearch) lists() map[nevra.NEVRA]*entry {
	installed := map[string][]nevra.NEVRA{}
	for _, server := range s.servers {
		for name, builds := range server.packages {
			for _, n := range builds {
				if key := name + "." + n.Arch; !slices.Contains(installed[key], n) {
					installed[key] = append(installed[key], n)
				}
			}
		}
	}
	best := map[nevra.NEVRA]*entry{}
	for _, source := range s.u.sources {
		for _, e := range source.byID {
			for _, n := range installed[e.Name+"."+e.Arch] {
				if have := best[n]; have == nil || have.NEVRA != n && (e.NEVRA == n || preferred(e, have)) {
					best[n] = e
				}
			}
		}
	}
	return best
}

// preferred decides between two builds, and between two files of one build, so that the result does not depend on the
// order of a map.
func preferred(a, b *entry) bool {
	return cmp.Or(a.Compare(b.EVR), cmp.Compare(a.id(), b.id())) > 0
}

// readInstalled collects the pairs with installed packages from the file lists of the repositories. It removes the
// packages without a list from lists.
func (s *fileSearch) readInstalled(ctx context.Context, lists map[nevra.NEVRA]*entry) error {
	stands := map[*entry][]nevra.NEVRA{}
	needed, listed := map[*source]bool{}, map[*entry]bool{}
	for _, n := range slices.SortedFunc(maps.Keys(lists), func(a, b nevra.NEVRA) int { return cmp.Compare(a.String(), b.String()) }) {
		e := lists[n]
		stands[e], needed[e.source] = append(stands[e], n), true
	}
	for _, source := range s.u.sources {
		if !needed[source] {
			continue
		}
		err := source.eachFilelist(ctx, func(id string, element []byte) error {
			e := source.byID[id]
			if len(stands[e]) == 0 {
				return ctx.Err()
			}
			listed[e] = true
			return filelist.Each(element, func(path []byte, kind filelist.Kind) {
				key := filelist.Merged(string(path))
				for _, o := range s.files[key] {
					if o.kind.Meets(kind) {
						s.meet(o.by, e, stands[e], key)
					}
				}
			})
		})
		if err != nil {
			return source.wrap(err)
		}
	}
	maps.DeleteFunc(lists, func(_ nevra.NEVRA, e *entry) bool { return !listed[e] })
	return nil
}

// meet records a common path of a chosen package and installed ones, on servers that have both.
func (s *fileSearch) meet(by, old *entry, installed []nevra.NEVRA, path string) {
	for _, n := range installed {
		if by.Name == n.Name && by.Arch == n.Arch || len(s.hosts(pair{by: by, have: n})) == 0 {
			continue // another build replaces it, or the kernel's rules permit both
		}
		at := pair{by: by, old: old, have: n}
		s.common[at] = append(s.common[at], path)
	}
}

// readSurveys collects the pairs with installed packages whose files no repository lists: the survey lists their programs and
// their files in /etc. It returns a sentence about all other files of these packages.
func (s *fileSearch) readSurveys(lists map[nevra.NEVRA]*entry) []string {
	unknown, hosts := map[string]bool{}, map[string]bool{}
	for _, server := range s.servers {
		for _, builds := range server.packages {
			for _, n := range builds {
				if lists[n] == nil {
					unknown[n.People()] = true
					for _, host := range server.names {
						hosts[host] = true
					}
				}
			}
		}
		for path, claims := range server.provides {
			if !strings.HasPrefix(path, "/") {
				continue
			}
			key := filelist.Merged(path)
			for _, c := range claims {
				for _, o := range s.files[key] {
					if lists[c.by] == nil && o.kind == filelist.File {
						s.meet(o.by, nil, []nevra.NEVRA{c.by}, key)
					}
				}
			}
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no repository lists the files of installed packages, so they are not compared with those of the bundle (%s; on %s): airgap preflight tests the transaction on the server",
		nameSome(slices.Sorted(maps.Keys(unknown)), "packages"), nameSome(slices.Sorted(maps.Keys(hosts)), "servers"))}
}

// nameSome lists the first three names.
func nameSome(names []string, of string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more %s", strings.Join(names[:most], ", "), len(names)-most, of)
}

// hosts returns the servers that get the chosen package, and have the installed one.
func (s *fileSearch) hosts(p pair) []string {
	var all []string
	for _, server := range s.servers {
		if !slices.Contains(server.packages[p.have.Name], p.have) {
			continue
		}
		for _, host := range server.names {
			if s.chosen[p.by].hosts[host] {
				all = append(all, host)
			}
		}
	}
	return all
}

// judge compares the common files of a pair by the headers of the packages.
func (s *fileSearch) judge(ctx context.Context, p pair, paths []string) (problem, notice string) {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	who := fmt.Sprintf("%s and %s", p.by.People(), p.other())
	if p.have.Name != "" {
		who = fmt.Sprintf("%s and %s, which is installed on %s,", p.by.People(), p.other(), nameSome(s.hosts(p), "servers"))
	}
	if p.old == nil || p.have.Name != "" && p.old.NEVRA != p.have {
		return "", fmt.Sprintf("%s have %s: no repository has this build of %s, so airgap cannot compare the contents; airgap preflight tests the transaction on the server",
			who, nameSome(paths, "files"), p.have.Name)
	}
	a, b := s.header(ctx, p.by), s.header(ctx, p.old)
	if a == nil || b == nil {
		return "", fmt.Sprintf("%s have %s: airgap could not read their headers to compare the contents; airgap preflight tests the transaction on the server", who, nameSome(paths, "files"))
	}
	wanted := func(path string) bool { _, is := slices.BinarySearch(paths, path); return is }
	these, those := a.Files(wanted), b.Files(wanted)
	var wrong []string
	how := ""
	for _, path := range paths {
		this, inA := these[path]
		that, inB := those[path]
		if reason := this.Conflict(that); inA && inB && reason != "" {
			wrong, how = append(wrong, path), cmp.Or(how, reason)
		}
	}
	if len(wrong) == 0 {
		return "", ""
	}
	return fmt.Sprintf("%s both have %s %s: rpm refuses to install them together", who, nameSome(wrong, "files"), how), ""
}

// header returns the header of a package; nil if it cannot be read.
func (s *fileSearch) header(ctx context.Context, e *entry) *rpmfile.Header {
	if h, known := s.headers[e]; known {
		return h
	}
	s.headers[e] = nil
	if len(s.headers) <= maxHeaderReads {
		if h, err := readEntryHeader(ctx, e); err == nil {
			s.headers[e] = h
		}
	}
	return s.headers[e]
}
