package docs

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Hit is a section of a page with all the words of a search.
type Hit struct {
	Page    string `json:"page"`    // for airgap docs NAME
	Section string `json:"section"` // its heading
	Line    string `json:"line"`    // its first line with one of the words, shortened
	score   int
}

const (
	mostHits   = 12
	lineWidth  = 100 // columns of Hit.Line
	titleScore = 20  // for a word in the title of the page
	headScore  = 10  // for a word in the heading of the section
	bodyScore  = 5   // at most, for a word in the text
)

// synonyms are groups of words with one meaning. A search for one of them finds all.
func synonyms() [][]string {
	return [][]string{
		{"podman", "docker", "container engine", "rpm-conflict", "컨테이너 엔진"},
		{"runtime", "containerd", "cri-o", "crio", "런타임"},
		{"vip", "load balancer", "balancer", "lb", "haproxy", "endpoint-free", "로드밸런서", "밸런서"},
		{"disk full", "no space left", "enospc", "disk-space", "disk space", "full disk", "eviction", "디스크 부족", "디스크 공간", "디스크가 가득"},
		{"storage", "storageclass", "csi", "persistentvolume", "pvc", "스토리지"},
		{"clock", "ntp", "chrony", "time-sync", "시계", "시간 동기화"},
		{"certificate", "cert", "x509", "tls", "인증서"},
		{"expired", "expire", "cert-expiry", "만료"},
		{"firewall", "firewalld", "nftables", "iptables", "방화벽"},
		{"ipip", "ip-in-ip", "protocol 4", "proto 4", "프로토콜 4"},
		{"vxlan", "overlay", "encapsulation", "캡슐화"},
		{"cni", "flannel", "calico", "cilium", "network plugin", "pod network", "파드 네트워크"},
		{"selinux", "avc", "restorecon"},
		{"permission denied", "noexec", "mount-noexec", "fapolicyd"},
		{"proxy", "http_proxy", "no_proxy", "프록시"},
		{"dns", "coredns", "resolv.conf", "resolv-conf", "name server", "네임 서버"},
		{"gpu", "nvidia", "cuda", "driver", "드라이버"},
		{"mig", "gpu instance"},
		{"image", "imagepullbackoff", "errimagepull", "pull", "이미지"},
		{"registry", "harbor", "nexus", "레지스트리"},
		{"uninstall", "reset", "제거", "초기화"},
		{"remove", "delete node", "drain", "노드 제거"},
		{"upgrade", "update", "업그레이드"},
		{"rollback", "downgrade", "undo", "롤백"},
		{"backup", "snapshot", "백업"},
		{"restore", "disaster", "복구", "복원"},
		{"password", "credential", "secret", "비밀번호", "암호"},
		{"join token", "join code", "bootstrap token", "조인 토큰"},
		{"kubeconfig", "kubectl", "admin.conf"},
		{"usb", "stick", "usb drive", "usb 드라이브"},
		{"signature", "fingerprint", "gpg", "key", "서명", "지문"},
		{"offline repository", "dnf", "yum", "rpm"},
		{"interrupted", "ctrl-c", "killed", "power cut", "resume", "중단", "정전"},
		{"ssh", "no-ssh"},
		{"audit", "auditd", "감사"},
	}
}

// Search returns the sections with all the words of the query, best first, at most mostHits. A
// synonym counts as the word. It returns none for a query without a letter or a digit.
func (b *Documentation) Search(query string) []Hit {
	terms := termsOf(query)
	if len(terms) == 0 {
		return nil
	}
	var hits []Hit
	for _, p := range b.Pages {
		for _, s := range p.sections() {
			if h, found := s.search(p, terms); found {
				hits = append(hits, h)
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.score, a.score) })
	return hits[:min(len(hits), mostHits)]
}

// termsOf splits a query into words, each with its synonyms. A synonym of several words that the
// query contains is one term.
func termsOf(query string) [][]string {
	query = strings.ToLower(query)
	groups := synonyms()
	var terms [][]string
	for _, group := range groups {
		for _, word := range group {
			if strings.Contains(word, " ") && occurrences(query, word) > 0 {
				terms = append(terms, group)
				query = strings.ReplaceAll(query, word, " ")
			}
		}
	}
	for word := range strings.FieldsSeq(query) {
		if !strings.ContainsFunc(word, isWord) {
			continue
		}
		i := slices.IndexFunc(groups, func(group []string) bool { return slices.Contains(group, word) })
		if i >= 0 {
			terms = append(terms, groups[i])
		} else {
			terms = append(terms, []string{word})
		}
	}
	return terms
}

// section is the text below one heading.
type section struct {
	heading string
	lines   []string
}

func (p Page) sections() []section {
	all := []section{{heading: p.Title}}
	for line := range strings.Lines(p.Text) {
		line = strings.TrimRight(line, "\n")
		if rank := rankOf(line); rank > 1 {
			all = append(all, section{heading: strings.TrimSpace(line[rank:])})
		} else if rank == 0 {
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	return all
}

func (s section) search(p Page, terms [][]string) (Hit, bool) {
	hit := Hit{Page: p.Name(), Section: s.heading}
	text := strings.ToLower(strings.Join(s.lines, "\n"))
	for _, term := range terms {
		inBody := min(bodyScore, occurrencesOf(text, term))
		inHead := occurrencesOf(strings.ToLower(s.heading), term)
		inTitle := occurrencesOf(strings.ToLower(p.Title), term)
		if inBody+inHead == 0 {
			return Hit{}, false
		}
		hit.score += inBody + headScore*min(1, inHead) + titleScore*min(1, inTitle)
	}
	hit.Line = s.excerpt(terms)
	return hit, true
}

func (s section) excerpt(terms [][]string) string {
	shown := ""
	for _, line := range s.lines {
		if line = strings.TrimSpace(strings.Trim(words(line), "|")); strings.Trim(line, "-| ") == "" {
			continue
		}
		if shown == "" {
			shown = line
		}
		if slices.ContainsFunc(terms, func(term []string) bool { return occurrencesOf(strings.ToLower(line), term) > 0 }) {
			shown = line
			break
		}
	}
	return runewidth.Truncate(shown, lineWidth, "…")
}

func occurrencesOf(text string, term []string) int {
	n := 0
	for _, word := range term {
		n += occurrences(text, word)
	}
	return n
}

// occurrences counts the words of the text that start with a word: "disk" in "disks", but not "port"
// in "support". A Korean word may follow another without a space.
func occurrences(text, word string) int {
	first, _ := utf8.DecodeRuneInString(word)
	n := 0
	for {
		i := strings.Index(text, word)
		if i < 0 {
			return n
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		if i == 0 || first > unicode.MaxASCII || before > unicode.MaxASCII || !isWord(before) {
			n++
		}
		text = text[i+len(word):]
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
