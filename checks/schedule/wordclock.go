package schedule

// clock reads a list of times of day, or a range of them.
func (p *phrase) clock() *Error {
	first := p.word(0)
	if p.times != nil {
		return p.fail(first, "%s follows other times: name all times together", quote(first.text))
	}
	from := word{}
	if p.at > 0 && p.words[p.at-1].is("from", "between") {
		from = p.words[p.at-1]
	}
	p.accept("at")
	for {
		if w := p.word(0); w.class == classClock && w.n < 0 {
			return p.number() // at :15
		}
		if w := p.word(0); w.class == classNumber && p.word(1).class == classUnit && p.word(1).n == unitMinute {
			if p.word(2).is("past") {
				return p.number()
			}
			return p.fail(w, `is that a minute of each hour? Write "%s minutes past every hour"`, w.text)
		}
		t, err := p.time()
		if err != nil {
			return err
		}
		p.times = append(p.times, t)
		startsTime := func(ahead int) bool {
			w := p.word(ahead)
			return p.isTime(ahead) || (w.class == classNumber || w.class == classDecimal) && p.endsTime(ahead+1)
		}
		switch {
		case from.is("between") && len(p.times) == 1 && p.accept("and"), len(p.times) == 1 && p.isRange(startsTime):
			end, err := p.time()
			if err != nil {
				return err
			}
			p.window, p.times = true, append(p.times, end)
			return nil
		case from.text != "":
			return p.fail(first, "%s %s until when? Write it like from 9:00 to 17:00", from.text, t.text)
		}
		if !p.another(startsTime, "at") {
			return nil
		}
	}
}

// endsTime reports whether a number before a word can be an hour.
func (p *phrase) endsTime(ahead int) bool {
	w := p.word(ahead)
	return w.class != classMonth && w.class != classUnit && !w.is("times", "x")
}

// time reads one time of day.
func (p *phrase) time() (timeOfDay, *Error) {
	t := timeOfDay{word: p.word(0)}
	w, next := t.word, p.word(1)
	p.at++
	hour, minute := w.n, 0
	switch {
	case w.is("noon", "midday"):
		hour = 12
	case w.is("midnight"):
		t.midnight = true
	case p.isTime(-1) && (w.is("half") || w.class == classUnit) && p.word(1).class == classNumber:
		if hour, minute = p.word(1).n, 30; w.class == classUnit {
			minute = 15
		}
		if next.is("to") {
			minute = -15
		}
		p.at += 2
		t.bare = true
	case w.class == classNumber && next.is("past") && p.word(1).class == classNumber:
		hour, minute = p.word(1).n, w.n
		p.at += 2
		t.bare = true
	case w.class == classClock:
		minute = w.m
	case w.class == classDecimal && p.isDottedTime(w):
		hour, minute = dotted(w.text)
	case w.class == classNumber && len(w.text) == 4 && isDigit(w.text[0]):
		hour, minute = w.n/100, w.n%100
	case w.class == classNumber:
		t.bare = len(w.text) == 1 || w.text[0] != '0' // 03 is on a 24-hour clock
	case w.text == "":
		return t, p.fail(w, "at which time? Write it like 3:00 or 3 pm")
	default:
		return t, p.fail(w, "%s is not a time of day: write it like 3:00 or 3 pm", quote(w.text))
	}
	return p.suffix(t, hour, minute)
}

func (p *phrase) isDottedTime(w word) bool {
	_, minute := dotted(w.text)
	return minute >= 0
}

// dotted returns the time of a text such as 7.30. Without two digits after the point the minute is -1.
func dotted(text string) (hour, minute int) {
	i := 0
	for ; text[i] != '.'; i++ {
		hour = hour*10 + int(text[i]-'0')
	}
	if len(text)-i != 3 {
		return hour, -1
	}
	return hour, int(text[i+1]-'0')*10 + int(text[i+2]-'0')
}

// suffix reads what may follow the digits of a time: o'clock, pm, in the afternoon.
func (p *phrase) suffix(t timeOfDay, hour, minute int) (timeOfDay, *Error) {
	name := t.text
	for more := true; more; {
		w := p.word(0)
		switch n := p.partAhead(0); {
		case w.is("oclock", "sharp"):
			p.at++
		case w.class == classUnit && w.n == unitHour:
			t.bare = false
			p.at++
		case w.is("am", "pm") && t.half == "" && !t.midnight:
			t.half, t.bare = w.text, false
			name += " " + w.text
			p.at++
		case hour == 12 && minute == 0 && t.bare && w.is("noon", "midnight"):
			if t.bare, t.midnight = false, w.is("midnight"); t.midnight {
				hour = 0
			}
			p.at++
		case n > 0 && t.half == "":
			d := &partsOfDay[p.word(n-1).n]
			if t.bare {
				hour = d.hour(hour)
			}
			if !d.has(hour) {
				return t, p.fail(t.word, "%s is not in the %s", quote(hhmm(hour, minute)), d.name)
			}
			t.bare = false
			p.at += n
		default:
			more = false
		}
	}
	switch {
	case t.half != "" && (hour < 1 || hour > 12):
		return t, p.fail(t.word, "%s is not a time of day: write hours from 1 to 12 with am and pm, or from 0 to 23 without", quote(name))
	case t.half != "":
		hour %= 12
		if t.half == "pm" {
			hour += 12
		}
	case hour == 24 && minute == 0:
		return t, p.fail(t.word, "%s is not a time of day: write 0:00, and the day that begins then", quote(name))
	}
	if hour > 23 || minute > 59 {
		return t, p.fail(t.word, "%s is not a time of day: hours are 0–23, minutes 0–59", quote(name))
	}
	t.minute = (hour*60 + minute + 24*60) % (24 * 60)
	t.bare = t.bare && hour > 0 && hour <= 12
	return t, nil
}

// hour returns the hour of a 24-hour clock that an hour up to 12 means in a part of the day: 19 for 7 in the evening.
func (d partOfDay) hour(hour int) int {
	if d.name == "morning" && hour == 12 {
		return 0
	}
	if later := (hour + 12) % 24; hour <= 12 && d.has(later) && !(hour == 12 && d.has(12)) {
		return later
	}
	return hour
}

// settleTimes applies the part of the day, and takes hours without am and pm for those of a 24-hour clock.
func (p *phrase) settleTimes() *Error {
	marked, clear, bare := false, false, 0
	for i := range p.times {
		t := &p.times[i]
		if p.part != nil {
			if t.bare {
				t.minute = p.part.hour(t.minute/60)*60 + t.minute%60
				t.bare = false
			}
			if !p.part.has(t.minute / 60) {
				return p.fail(t.word, "%s is not in the %s", hhmm(t.minute/60, t.minute%60), p.part.name)
			}
		}
		marked = marked || t.half != ""
		clear = clear || t.half == "" && t.minute/60 > 12
		if t.bare {
			bare++
		}
	}
	for _, t := range p.times {
		if marked && t.half == "" && !t.is("noon", "midday", "midnight") && t.minute >= 60 && t.minute < 13*60 {
			return p.fail(t.word, "is %s am or pm? Write it with each time", t.text)
		}
	}
	if bare > 0 && !clear {
		p.takeHours()
	}
	return nil
}

// takeHours notes that hours were read on a 24-hour clock.
func (p *phrase) takeHours() {
	for _, t := range p.times {
		hour, minute := t.minute/60, t.minute%60
		switch {
		case !t.bare:
		case len(p.times) > 1:
			p.take("Hours were read on a 24-hour clock; write am or pm with each for the other.")
			return
		case hour == 12:
			p.take("The time was read as %s, after noon.", hhmm(hour, minute))
		default:
			p.take("The time was read as %s, on a 24-hour clock; write pm for %s.", hhmm(hour, minute), hhmm(hour+12, minute))
		}
	}
}
