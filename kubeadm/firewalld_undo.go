package kubeadm

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

const (
	firewalldUndo = undoDir + "/firewalld.json"
	zonesDir      = "/etc/firewalld/zones"
	vendorZones   = "/usr/lib/firewalld/zones"
)

// firewallRecord is what we added to firewalld, by view, and the zones' files
// as they were: firewalld writes each anew, in a form of its own.
type firewallRecord struct {
	Added map[string]openings `json:"added"`
	Files map[string]kept     `json:"files"` // by path
}

// pending are the changes that lead to what is wanted.
func (w firewalld) pending(ctx context.Context) ([]zoneChange, error) {
	if runs, err := w.m.unitIs(ctx, "is-active", "firewalld"); err != nil || !runs {
		return nil, err
	}
	now, err := viewRuntime().read(ctx, w.m)
	if err != nil {
		return nil, err
	}
	zones, err := w.zones(ctx, now)
	if err != nil {
		return nil, err
	}
	return w.m.firewallChanges(ctx, w.want.wanted(zones), viewRuntime(), viewPermanent())
}

func (m Machine) firewallChanges(ctx context.Context, want openings, views ...firewallView) ([]zoneChange, error) {
	record, err := host.ReadJSON[firewallRecord](m.path(firewalldUndo))
	if err != nil {
		return nil, err
	}
	var all []zoneChange
	for _, v := range views {
		have, err := v.read(ctx, m)
		if err != nil {
			return nil, err
		}
		all = append(all, v.changes(have, want, record.Added[v.name])...)
	}
	return all, nil
}

// open writes down what it is going to add before it adds it.
func (w firewalld) open(ctx context.Context) error {
	changes, err := w.pending(ctx)
	if err != nil {
		return err
	}
	if err := w.m.recordFirewall(changes); err != nil {
		return err
	}
	return w.m.changeFirewall(ctx, changes)
}

func (m Machine) changeFirewall(ctx context.Context, changes []zoneChange) error {
	for _, c := range changes {
		if err := c.make(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (m Machine) recordFirewall(changes []zoneChange) error {
	record, err := host.ReadJSON[firewallRecord](m.path(firewalldUndo))
	if err != nil {
		return err
	}
	if record.Added == nil {
		record = firewallRecord{Added: map[string]openings{}, Files: map[string]kept{}}
	}
	for _, c := range changes {
		if c.verb == "add" {
			record.Added[c.view.name] = union(record.Added[c.view.name], openings{c.zone: c.what})
		}
		for _, file := range zoneFiles(c.zone) {
			if _, known := record.Files[file]; known {
				continue
			}
			if record.Files[file], err = m.keep(file); err != nil {
				return err
			}
		}
	}
	return host.WriteJSON(m.path(firewalldUndo), record)
}

// zoneFiles are a zone's file and the copy that firewalld makes before it
// writes.
func zoneFiles(zone string) []string {
	return []string{zonesDir + "/" + zone + ".xml", zonesDir + "/" + zone + ".xml.old"}
}

// close takes out what we added, and leaves what others have.
func (w firewalld) close(ctx context.Context) error {
	record, err := host.ReadJSON[firewallRecord](w.m.path(firewalldUndo))
	if err != nil {
		return err
	}
	views := []firewallView{viewRuntime(), viewPermanent()}
	if runs, err := w.m.unitIs(ctx, "is-active", "firewalld"); err != nil {
		return err
	} else if !runs {
		views = views[:0]
		if there, err := w.m.offline(ctx); err != nil {
			return err
		} else if there {
			views = append(views, viewOffline())
		}
	}
	changes, err := w.m.firewallChanges(ctx, nil, views...)
	if err != nil {
		return err
	}
	if err := w.m.changeFirewall(ctx, changes); err != nil {
		return err
	}
	for file, before := range record.Files {
		if zone, is := strings.CutSuffix(file, ".xml"); is {
			if err := w.m.restoreZone(zone, before, record.Files[file+".old"]); err != nil {
				return err
			}
		}
	}
	return host.Remove(w.m.path(firewalldUndo))
}

// restoreZone puts back a zone's files as they were written, unless the zone
// says something else by now.
func (m Machine) restoreZone(zone string, before, copyBefore kept) error {
	now, err := m.keep(zone + ".xml")
	if err != nil || now.Absent {
		return err
	}
	was := before
	if before.Absent { // then the vendor's counted
		if was, err = m.keep(strings.Replace(zone, zonesDir, vendorZones, 1) + ".xml"); err != nil {
			return err
		}
	}
	if !sameXML(now.Data, was.Data) {
		return nil
	}
	return errors.Join(m.putBack(zone+".xml", before), m.putBack(zone+".xml.old", copyBefore))
}

// sameXML compares two documents but for the order of their elements, space
// and comments.
func sameXML(a, b []byte) bool {
	left, errLeft := flatten(a)
	right, errRight := flatten(b)
	return errLeft == nil && errRight == nil && slices.Equal(left, right)
}

// flatten lists a document's elements, sorted, each with the path to it, its
// attributes, its text and all that is in it.
func flatten(text []byte) ([]string, error) {
	var root xmlElement
	if err := xml.Unmarshal(text, &root); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return root.flat(), nil
}

type xmlElement struct {
	XMLName  xml.Name
	Attrs    []xml.Attr   `xml:",any,attr"`
	Text     []byte       `xml:",chardata"`
	Elements []xmlElement `xml:",any"`
}

func (e xmlElement) flat() []string {
	words := []string{e.XMLName.Local, string(bytes.TrimSpace(e.Text))}
	for _, a := range e.Attrs {
		words = append(words, a.Name.Local+"="+a.Value)
	}
	slices.Sort(words[2:])
	var inner []string
	for _, child := range e.Elements {
		inner = append(inner, strings.Join(child.flat(), "\x00"))
	}
	slices.Sort(inner)
	return append(words, inner...)
}
