package remote

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
)

// Hop is a jump host as ssh.proxyJump and ProxyJump have it: [USER@]HOST[:PORT].
type Hop struct {
	User, Host string // User can be ""
	Port       int    // 0 if there is none
}

// NoJump stands in place of a jump host for a host that is reached directly.
const NoJump = "none"

const wantedHop = "want [USER@]HOST[:PORT], such as ops@bastion.bank:2222"

var (
	hopUser = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@$+#%:-]*$`)
	hopHost = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)
)

// ParseHop reads one jump host. A user may contain "@", as those of PSM for SSH do.
func ParseHop(text string) (Hop, error) {
	var h Hop
	address := text
	if strings.ContainsAny(text, "/ ") {
		return h, errors.New(wantedHop)
	}
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		h.User, address = text[:at], text[at+1:]
		if !hopUser.MatchString(h.User) {
			return h, errors.New(wantedHop)
		}
	}
	h.Host = address
	if host, port, err := net.SplitHostPort(address); err == nil {
		h.Host = host
		if h.Port, err = strconv.Atoi(port); err != nil || h.Port < 1 || h.Port > 65535 {
			return h, fmt.Errorf("port %q is no number from 1 to 65535: %s", port, wantedHop)
		}
	}
	h.Host = strings.TrimSuffix(strings.TrimPrefix(h.Host, "["), "]")
	if !hopHost.MatchString(h.Host) && net.ParseIP(h.Host) == nil || h.Host == NoJump {
		return h, errors.New(wantedHop)
	}
	return h, nil
}

// maxHops is more jump hosts than a site has in a row.
const maxHops = 8

// ParseHops reads jump hosts, the first one first. "none" alone is no jump host.
func ParseHops(texts []string) ([]Hop, error) {
	if len(texts) == 1 && texts[0] == NoJump {
		return nil, nil
	}
	if len(texts) > maxHops {
		return nil, fmt.Errorf("more than %d jump hosts in a row", maxHops)
	}
	var all []Hop
	seen := map[string]bool{}
	for _, text := range texts {
		h, err := ParseHop(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if seen[text] {
			return nil, fmt.Errorf("%q is in the list twice", text)
		}
		seen[text] = true
		all = append(all, h)
	}
	return all, nil
}
