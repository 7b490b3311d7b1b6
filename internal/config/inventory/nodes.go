package inventory

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/hostrange"
	"airgap.dev/airgap/internal/remote"
)

// Fields of a node that variables and columns stand for.
const (
	fieldName     = "name"
	fieldAddress  = "address"
	fieldAccess   = "access address"
	fieldPriority = "group priority"
	fieldRoles    = "roles"
	fieldGPU      = "gpu"
	fieldRack     = "rack"
	fieldHost     = "ssh.address"
	fieldUser     = "ssh.user"
	fieldPort     = "ssh.port"
	fieldKey      = "ssh.identityFile"
	fieldHostKey  = "ssh.hostKey"
)

// nodes returns the nodes of the hosts, judged as those of airgap.yaml.
func (r *reader) nodes(entries []entry) ([]config.Node, error) {
	var all []config.Node
	var lines []int
	for _, e := range entries {
		if r.stopped {
			return nil, nil
		}
		n, is := r.node(e)
		if !is || len(n.Roles) == 0 {
			continue // reported
		}
		some, problems := n.Expand(field.NewPath(""))
		if len(problems) > 0 {
			r.fault(e.line, e.name, "%s", problems[0].ErrorBody())
			continue
		}
		for _, one := range some {
			all, lines = append(all, one), append(lines, e.line)
		}
		if len(all) > hostrange.Max {
			r.stop(e.line, "the list has more than %d hosts", hostrange.Max)
		}
	}
	if r.stopped {
		return nil, nil
	}
	problems, err := config.JudgeNodes(all)
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		message := p.Message
		if p.Same >= 0 {
			message += fmt.Sprintf(": line %d has it too", lines[p.Same])
		}
		r.fault(lines[p.Index], strings.TrimSuffix(all[p.Index].Name+"."+p.Field, "."), "%s", message)
	}
	return all, nil
}

// node makes the node of a host. It judges the values that airgap.yaml does not have.
func (r *reader) node(e entry) (n config.Node, is bool) {
	get := func(field string) string { return e.variables[field].value }
	n = config.Node{Name: e.name, Rack: cmp.Or(get(fieldRack), e.rack)}
	for _, role := range e.roles {
		n.Roles = append(n.Roles, config.Role(role))
	}
	ssh := remote.Override{User: get(fieldUser), IdentityFile: get(fieldKey), HostKey: get(fieldHostKey)}
	var known bool
	if n.Address, ssh.Address, known = r.addresses(e); !known {
		return n, false
	}
	if v, is := e.variables[fieldPort]; is && v.value != "" {
		number, err := strconv.Atoi(v.value)
		if err != nil || number < 1 || number > 65535 {
			r.fault(v.line, e.name+"."+v.name, "want a TCP port from 1 to 65535")
			return n, false
		}
		ssh.Port = number
	}
	if !reflect.ValueOf(ssh).IsZero() {
		n.SSH = &ssh
	}
	return n, true
}

// addresses returns the address of the node, and that of its sshd if it is another one. airgap asks no
// name server: the address can be another one on the site.
func (r *reader) addresses(e entry) (node, sshd string, is bool) {
	address, access, login := e.variables[fieldAddress], e.variables[fieldAccess], e.variables[fieldHost]
	switch {
	case access.value != "" && address.value != "" && access.value != address.value:
		r.fault(access.line, e.name, "%s and %s are different: want one address at which the other nodes reach the node", access.name, address.name)
		return "", "", false
	case address.value == "":
		address = access
	}
	switch {
	case address.value != "" && login.value != address.value:
		return address.value, login.value, true
	case address.value != "":
		return address.value, "", true
	case isAddress(login.value):
		return login.value, "", true
	case login.value != "":
		r.fault(login.line, e.name, "%s is not an IPv4 address: want the address at which the other nodes reach the node as ip=ADDRESS next to it", login.name)
	case isAddress(e.name):
		r.fault(e.line, e.name, "the host has only an address: want NAME ansible_host=%s", e.name)
	default:
		r.fault(e.line, e.name, "the host has no address: want ansible_host=ADDRESS or ip=ADDRESS with an IPv4 address such as 10.0.0.11")
	}
	return "", "", false
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}
