package docs

import (
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
)

// The places of a page.
const (
	first      = 1
	firstThree = 3
	shown      = mostHits // the page is in the results, but lower than it should be
)

// wanted is a query with the hit that an operator needs: a hit of one of the pages, with the text in its
// section, line or remedy.
type wanted struct {
	query string
	place int
	page  string // without the language; "|" separates several that are all correct
	text  string
}

func englishQueries() []wanted {
	return []wanted{
		{"podman", firstThree, "checks/preflight/rpm-conflict", ""},
		{"docker", firstThree, "checks/preflight/runtime-present|checks/preflight/nft-foreign", ""},
		{"VIP", firstThree, "checks/preflight/lb-vip", ""},
		{"load balancer", firstThree, "checks/preflight/lb-vip", ""},
		{"haproxy", firstThree, "checks/preflight/lb-vip|checks/preflight/lb-idle", ""},
		{"disk full", shown, "checks/preflight/disk-space", ""},
		{"disk full", firstThree, "trouble", "No space left on device"},
		{"no space left on device", first, "trouble", "No space left on device"},
		{"write /var/lib/airgap/store/site/blobs: no space left on device", first, "trouble", "No space left on device"},
		{"image pull", firstThree, "trouble", "ImagePullBackOff"},
		{"imagepullbackoff", first, "trouble", "ImagePullBackOff"},
		{`Failed to pull image "registry.k8s.io/pause:3.10": rpc error: code = NotFound desc = failed to pull and unpack image`, firstThree, "trouble", "ImagePullBackOff"},
		{"x509: certificate has expired or is not yet valid", firstThree, "trouble", "a certificate has expired"},
		{"x509 expired", firstThree, "trouble|checks/preflight/cert-expiry", "expir"},
		{"x509: certificate signed by unknown authority", firstThree, "checks/verify/registry-reach", ""},
		{"selinux denied", first, "checks/preflight/selinux", ""},
		{"permission denied container", firstThree, "checks/preflight/selinux|checks/preflight/fapolicyd|checks/preflight/mount-noexec", ""},
		{"firewalld ports", firstThree, "checks/preflight/firewalld", ""},
		{"IPIP", firstThree, "checks/preflight/ipip-proto4", ""},
		{"cgroup v1", first, "checks/preflight/cgroup-version", ""},
		{"kernel-devel", first, "checks/preflight/gpu-kernel-devel", ""},
		{"kernel headers", first, "checks/preflight/gpu-kernel-devel", ""},
		{"proxy", firstThree, "checks/preflight/proxy-env", ""},
		{"dns not working", firstThree, "trouble", "airgap verify --only dns"},
		{"dns not working", shown, "checks/verify/dns", ""},
		{"names are not resolved", first, "trouble", "names are not resolved"},
		{"lookup kubernetes.default: Temporary failure in name resolution", first, "checks/verify/dns", ""},
		{"airgap: error: another airgap command is changing this host", first, "trouble", "another airgap command"},
		{"bundle.tar.003, chunk 17 (from byte 4194304): wrong digest", first, "trouble", "chunk N (from byte B)"},
		{"signature is wrong", first, "trouble", "signature is wrong"},
		{"docker.io/team/app:1.2: requires a login, or the image does not exist", first, "trouble", "requires a login"},
		{"E1129 kubelet: running with swap on is not supported, please disable swap! or set --fail-swap-on flag to false", first, "checks/preflight/swap", ""},
		{"container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message: cni plugin not initialized", firstThree, "trouble", "NotReady"},
		{"node NotReady", firstThree, "trouble", "NotReady"},
		{"pods on different nodes cannot reach each other", firstThree, "trouble|checks/preflight/encapsulation", ""},
		{"0/3 nodes are available: 3 Insufficient nvidia.com/gpu", firstThree, "trouble", "nvidia.com/gpu"},
		{"The node was low on resource: ephemeral-storage. evicted", firstThree, "trouble", "evicted"},
		{"etcdserver: mvcc: database space exceeded", firstThree, "checks/verify/etcd", ""},
		{"kubectl hangs", first, "trouble", "kubectl fails or hangs"},
		{"upgrade failed go back", firstThree, "trouble|commands/airgap-rollback", ""},
		{"uninstall", firstThree, "commands/airgap-reset", ""},
		{"usb stick pulled out while writing", first, "trouble", "unfinished bundle"},
		{"power cut during install", firstThree, "trouble|walkthrough", "power"},
		{"forgot registry password", firstThree, "commands/airgap-registry-passwd", ""},
		{"clock is wrong", firstThree, "trouble|checks/preflight/clock-sane", "clock"},
		{"too many open files", firstThree, "checks/preflight/limits|checks/preflight/inotify", ""},
		{"delete old images", firstThree, "commands/airgap-registry-prune", ""},
		{"lost a control plane node", firstThree, "trouble", "permanently lost"},
		{"storageclass", 4, "walkthrough|limitations", ""},
		{"downgrade", firstThree, "commands/airgap-rollback", ""},
	}
}

func koreanQueries() []wanted {
	return []wanted{
		{"podman", firstThree, "checks/preflight/rpm-conflict", ""},
		{"디스크 가득", shown, "checks/preflight/disk-space", ""},
		{"디스크 가득", firstThree, "trouble", "No space left on device"},
		{"이미지 삭제", firstThree, "commands/airgap-registry-prune", ""},
		{"로드 밸런서", firstThree, "checks/preflight/lb-vip", ""},
		{"로드밸런서", firstThree, "checks/preflight/lb-vip", ""},
		{"인증서 만료", firstThree, "trouble", "인증서가 만료됐다"},
		{"방화벽 포트", firstThree, "checks/preflight/firewalld|checks/preflight/ports-reach", "방화벽"},
		{"노드가 NotReady 상태", firstThree, "trouble", "NotReady"},
		{"이미지 풀 실패", firstThree, "trouble", "ImagePullBackOff"},
		{"정전 후 설치 재개", firstThree, "trouble", "정전"},
		{"시계가 안 맞아요", firstThree, "trouble", "시계가 맞지 않는다"},
		{"업그레이드 되돌리기", firstThree, "trouble|commands/airgap-rollback", ""},
		{"레지스트리 비밀번호", firstThree, "commands/airgap-registry-passwd", ""},
		{"USB가 뽑혔어요", first, "trouble", "unfinished bundle"},
		{"파드 통신 안됨", firstThree, "trouble|checks/preflight/encapsulation", ""},
		{"클러스터 제거", firstThree, "commands/airgap-reset", ""},
		{"백업 복원", shown, "commands/airgap-restore", ""},
		{"노드 삭제", firstThree, "commands/airgap-remove", ""},
		{"GPU 드라이버", shown, "checks/preflight/gpu-driver", ""},
		{"스왑", first, "checks/preflight/swap", ""},
		{"커널 헤더", first, "checks/preflight/gpu-kernel-devel", ""},
		{"도커", shown, "checks/preflight/runtime-present|checks/preflight/rpm-conflict", ""},
		{"포드맨", firstThree, "checks/preflight/rpm-conflict", ""},
		{"방화벽", shown, "checks/preflight/firewalld", ""},
		{"L4 스위치", firstThree, "checks/preflight/lb-vip", ""},
		{"kubelet이 계속 재시작", firstThree, "trouble", "kubelet이 계속"},
		{"airgap: error: another airgap command is changing this host", first, "trouble", "another airgap command"},
		{"x509: certificate has expired or is not yet valid", firstThree, "trouble", "인증서가 만료됐다"},
	}
}

// found returns the place of the page with the wanted hit, from 1, or 0.
func (q wanted) found(r Results) int {
	for i, p := range r.Pages {
		for _, h := range p.Hits {
			page := strings.TrimPrefix(p.Page, "ko/")
			if slices.Contains(strings.Split(q.page, "|"), page) && strings.Contains(h.Section+"\n"+h.Line+"\n"+h.Remedy, q.text) {
				return i + 1
			}
		}
	}
	return 0
}

// TestSearchFindsWhatOperatorsNeed: the queries of operators, and messages that they paste, find the
// row or the page that explains them.
func TestSearchFindsWhatOperatorsNeed(t *testing.T) {
	for language, queries := range map[Language][]wanted{English: englishQueries(), Korean: koreanQueries()} {
		b, err := Read(language)
		if err != nil {
			t.Fatal(err)
		}
		c := b.corpus()
		for _, q := range queries {
			r := c.search(q.query)
			if place := q.found(r); place == 0 || place > q.place {
				var text strings.Builder
				_ = r.Write(&text, "", 150)
				t.Errorf("%s, %q: place %d, want %d for %s %q:\n%s", language, q.query, place, q.place, q.page, q.text, text.String())
			}
		}
	}
}

// TestSearchKnowsUnknownWords: a word that no page has finds nothing, although pages have parts of it.
func TestSearchKnowsUnknownWords(t *testing.T) {
	for language, queries := range map[Language][]string{
		English: {"OpenShiftVirt", "CassandraOperator", "kafka", "qwertz"},
		Korean:  {"카프카", "코끼리", "카산드라", "몽고디비", "디스코드", "OpenShiftVirt"},
	} {
		b, err := Read(language)
		if err != nil {
			t.Fatal(err)
		}
		c := b.corpus()
		for _, query := range queries {
			if r := c.search(query); len(r.Pages) > 0 {
				t.Errorf("%s, %q finds %s: %+v", language, query, r.Pages[0].Page, r.Pages[0].Hits)
			}
		}
		if r := c.search(queries[0] + " podman"); len(r.Pages) == 0 || len(r.Unknown) != 1 || r.Unknown[0] != queries[0] {
			t.Errorf("%s: with a known word: %+v", language, r)
		}
	}
}

func searchPages() *Documentation {
	return &Documentation{Pages: []Page{
		{Path: "a.md", Title: "Disks", Text: "# Disks\n\nA first line.\n\n## Size\n\nThe disk is [too small](x.md). The end.\n\n```sh\n# not a heading\ndf -h | sort\n```\n"},
		{Path: "trouble.md", Title: "Support", Text: "# Support\n\n| Port | For | Fix |\n|---|---|---|\n| 22 | ssh | open it |\n| [disk](disk.md) | indexed |  |\n"},
		{Path: "c.md", Title: "Facts", Text: "# Facts\n\n|  |  |\n|---|---|\n| Impact | nothing starts |\n\n로드밸런서를 둡니다.\n"},
	}}
}

// TestSearchHits: a hit is a row or the best sentence of a section. It does not need all words.
func TestSearchHits(t *testing.T) {
	for query, want := range map[string]string{
		"disks":              "a|Disks|A first line.|",
		"small DISK":         "a|Size|The disk is too small.|",
		"df":                 "a|Size|df -h | sort|",
		"ports":              "",
		"ssh":                "trouble|Support|22|ssh; open it",
		"22 wireguard":       "trouble|Support|22|ssh; open it",
		"indexed":            "", // the page has the words
		"impact on starting": "c|Facts|Impact: nothing starts|",
		"로드 밸런서가":            "c|Facts|로드밸런서를 둡니다.|",
		"upport":             "",
		"--":                 "",
		"":                   "",
	} {
		var got string
		if r := searchPages().Search(query); len(r.Pages) > 0 {
			h := r.Pages[0].Hits[0]
			got = strings.Join([]string{r.Pages[0].Page, h.Section, h.Line, h.Remedy}, "|")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}

// TestSearchIsBounded: at most mostOfPage hits of a page and mostHits in all are shown, and the others
// are counted.
func TestSearchIsBounded(t *testing.T) {
	b := &Documentation{}
	for i := range 8 {
		text := "# Page\n\n" + strings.Repeat("## Section\n\nThe disk is full.\n\n", 3)
		b.Pages = append(b.Pages, Page{Path: string(rune('a'+i)) + ".md", Title: "Page", Text: text})
	}
	r := b.Search("disk wireguard")
	hits := 0
	for _, p := range r.Pages {
		hits += len(p.Hits)
		if len(p.Hits) > mostOfPage {
			t.Errorf("%s: %d hits", p.Page, len(p.Hits))
		}
	}
	if hits != mostHits || hits+r.More != 24 || !slices.Equal(r.Unknown, []string{"wireguard"}) {
		t.Errorf("got %d hits, %d more, unknown %q", hits, r.More, r.Unknown)
	}
	if r := b.Search(strings.Repeat("disk 0x7f ", 10000)); len(r.Pages) == 0 || len(r.Unknown) > 0 {
		t.Errorf("a long query: %+v", r)
	}
}

// TestResultsFitTheTerminal: no line is wider than the terminal, except a single long word.
func TestResultsFitTheTerminal(t *testing.T) {
	for language, query := range map[Language]string{English: "disk full", Korean: "디스크 가득"} {
		b, err := Read(language)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := b.Search(query).Write(&text, "airgap docs", 40); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			line = strings.TrimRight(line, "\n")
			if runewidth.StringWidth(line) > 40 && len(strings.Fields(line)) > 1 {
				t.Errorf("%s: a line of %d columns: %q", language, runewidth.StringWidth(line), line)
			}
		}
	}
}

// TestSynonyms: each phrase is in one group only and is in lower case.
func TestSynonyms(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range synonyms() {
		for _, phrase := range group {
			form := strings.Join(tokens(phrase), " ")
			if seen[form] || phrase != strings.ToLower(phrase) || form == "" {
				t.Errorf("%q is empty, not in lower case, or in two groups", phrase)
			}
			seen[form] = true
		}
	}
}
