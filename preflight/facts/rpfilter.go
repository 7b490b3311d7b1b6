package facts

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
)

// Filtering has the settings of a link in net.ipv4.conf.LINK. For rp_filter and arp_ignore the
// larger value of "all" and the link applies.
type Filtering struct {
	Link      string `yaml:"link" json:"link"`
	RPFilter  int    `yaml:"rpFilter" json:"rpFilter"`   // 0: off, 1: strict, 2: loose
	ARPFilter int    `yaml:"arpFilter" json:"arpFilter"` // 1: answers only if the return route uses the link
	ARPIgnore int    `yaml:"arpIgnore" json:"arpIgnore"`
}

const linkSettings = "proc/sys/net/ipv4/conf"

// readFiltering skips the links of pods, which are not permanent.
func readFiltering(_ context.Context, r reader, f *Facts) error {
	names, err := r.names(linkSettings)
	if err != nil {
		return err
	}
links:
	for _, name := range names {
		if IsPodLink(name) {
			continue
		}
		l := Filtering{Link: name}
		for file, into := range map[string]*int{"rp_filter": &l.RPFilter, "arp_filter": &l.ARPFilter, "arp_ignore": &l.ARPIgnore} {
			text, err := r.text(path.Join(linkSettings, name, file))
			if errors.Is(err, fs.ErrNotExist) { // the link was removed meanwhile
				continue links
			}
			if err != nil {
				return err
			}
			if *into, err = strconv.Atoi(text); err != nil {
				return &fs.PathError{Op: "parse", Path: path.Join(linkSettings, name, file), Err: err}
			}
		}
		f.Filtering = append(f.Filtering, l)
	}
	return nil
}

// filtering has the settings that apply to a link.
func (f *Facts) filtering(link string) Filtering {
	var all, own Filtering
	for _, l := range f.Filtering {
		switch l.Link {
		case "all":
			all = l
		case link:
			own = l
		}
	}
	return Filtering{link, max(all.RPFilter, own.RPFilter), max(all.ARPFilter, own.ARPFilter), max(all.ARPIgnore, own.ARPIgnore)}
}

// Uplinks are the links with an IPv4 address that other hosts can reach.
func (f *Facts) Uplinks() []string {
	var names []string
	for _, l := range f.Links {
		if IsPodLink(l.Name) {
			continue
		}
		for _, a := range l.Addresses {
			if a.Addr().Is4() && !a.Addr().IsLoopback() && !a.Addr().IsLinkLocalUnicast() && !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
	}
	return names
}
