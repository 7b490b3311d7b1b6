package bundle

import "time"

// Summary is what a bundle holds, in numbers.
type Summary struct {
	Name     string    `json:"name"`
	Created  time.Time `json:"created"`
	Tool     string    `json:"tool"`
	Platform string    `json:"platform"`
	OS       string    `json:"os,omitempty"`
	Proof    string    `json:"proof,omitempty"`
	Size     int64     `json:"size"` // of all parts, bytes
	Parts    int       `json:"parts"`
	Images   Amount    `json:"images"`
	Packages Amount    `json:"packages"`
	Files    Amount    `json:"files"`
}

// Amount counts things, and the bytes they take in the bundle: what several
// images share counts once.
type Amount struct {
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
}

// Summary adds up what the index lists.
func (x *Index) Summary() Summary { return summarise(x) }

// Summary adds up what the plan is going to fetch; there are no parts yet.
func (p *Plan) Summary() (Summary, error) {
	files, _, err := p.contents()
	if err != nil {
		return Summary{}, err
	}
	return summarise(&Index{Name: p.Name, Created: p.Created, Tool: p.Tool, Lock: p.Lock, Files: files}), nil
}

func summarise(x *Index) Summary {
	s := Summary{
		Name: x.Name, Created: x.Created, Tool: x.Tool, Platform: x.Lock.Platform, OS: x.Lock.OS, Proof: x.Lock.Proof, Parts: len(x.Parts),
		Images:   Amount{Count: len(x.Lock.Images)},
		Packages: Amount{Count: len(x.Lock.Packages)},
		Files:    Amount{Count: len(x.Lock.Files)},
	}
	for _, p := range x.Parts {
		s.Size += p.Size
	}
	for _, f := range x.Files {
		switch kindOf(f.Path) {
		case "images":
			s.Images.Bytes += f.Size
		case "packages":
			s.Packages.Bytes += f.Size
		case "files":
			s.Files.Bytes += f.Size
		}
	}
	return s
}
