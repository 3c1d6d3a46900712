/**
 * Programs of the guides that do more than one call: retry, and read all pages of a list. Each is complete: pasted and run, it
 * prints what it got.
 */

/** @typedef {(url: string, key: string) => string} Recipe URL and key have no characters that end quotes */

/** @type {Record<string, Recipe>} */
export const RETRY = {
  curl: (url, key) => `# Repeats after 408, 429, 500 and 503, and waits as long as Retry-After says.
curl --retry 5 '${url}' \\
  -H 'Authorization: Bearer ${key}'`,

  JavaScript: (url, key) => `async function call(url, options) {
  for (let attempt = 0; ; attempt += 1) {
    const response = await fetch(url, options);
    if (![408, 429, 500, 503].includes(response.status) || attempt === 5) return response;
    const seconds = Number(response.headers.get("retry-after")) || 2 ** attempt;
    await new Promise((resolve) => setTimeout(resolve, (seconds + Math.random()) * 1000));
  }
}

const response = await call("${url}", {
  headers: { Authorization: "Bearer ${key}" },
});
console.log(response.status, await response.json());`,

  Python: (url, key) => `import json, random, time, urllib.error, urllib.request

def call(request):
    for attempt in range(6):
        try:
            with urllib.request.urlopen(request) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (408, 429, 500, 503) or attempt == 5:
                raise
            seconds = int(error.headers["retry-after"] or 2 ** attempt)
            time.sleep(seconds + random.random())

print(call(urllib.request.Request(
    "${url}",
    headers={"Authorization": "Bearer ${key}"},
)))`,

  PHP: (url, key) => `<?php
function call(string $url, string $key): string|false {
    for ($attempt = 0; ; $attempt++) {
        $seconds = 2 ** $attempt;
        $curl = curl_init($url);
        curl_setopt_array($curl, [
            CURLOPT_HTTPHEADER => ["Authorization: Bearer $key"],
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HEADERFUNCTION => function ($curl, $line) use (&$seconds) {
                if (preg_match('/^retry-after: *(\\d+)/i', $line, $found)) $seconds = (int) $found[1];
                return strlen($line);
            },
        ]);
        $reply = curl_exec($curl);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if (!in_array($status, [408, 429, 500, 503]) || $attempt === 5) return $reply;
        usleep($seconds * 1000000 + random_int(0, 999999));
    }
}

echo call('${url}', '${key}');`,

  Go: (url, key) => `package main

import (
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"strconv"
	"time"
)

func call(request *http.Request) (*http.Response, error) {
	for attempt := 0; ; attempt++ {
		response, err := http.DefaultClient.Do(request)
		if err != nil || attempt == 5 {
			return response, err
		}
		switch response.StatusCode {
		case 408, 429, 500, 503:
			response.Body.Close()
		default:
			return response, nil
		}
		seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
		if err != nil {
			seconds = 1 << attempt
		}
		time.Sleep(time.Duration(seconds)*time.Second + time.Duration(rand.Intn(1000))*time.Millisecond)
	}
}

func main() {
	request, err := http.NewRequest("GET", "${url}", nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer ${key}")
	response, err := call(request)
	if err != nil {
		panic(err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(response.Status, string(reply))
}`,
};

/** @type {Record<string, Recipe>} */
export const PAGES = {
  curl: (url, key) => `next=
while
  page=$(curl -s "${url}&next=$next" \\
    -H 'Authorization: Bearer ${key}')
  echo "$page" | jq -r '.data[] | .id + " " + .status'
  next=$(echo "$page" | jq -r '.pagination.next_cursor // empty')
  [ -n "$next" ]
do :; done`,

  JavaScript: (url, key) => `let next = "";
do {
  const response = await fetch(\`${url}&next=\${next}\`, {
    headers: { Authorization: "Bearer ${key}" },
  });
  const { data, pagination } = await response.json();
  for (const job of data) console.log(job.id, job.status);
  next = pagination.next_cursor;
} while (next);`,

  Python: (url, key) => `import json, urllib.request

next_cursor = ""
while next_cursor is not None:
    request = urllib.request.Request(
        f"${url}&next={next_cursor}",
        headers={"Authorization": "Bearer ${key}"},
    )
    with urllib.request.urlopen(request) as response:
        page = json.load(response)
    for job in page["data"]:
        print(job["id"], job["status"])
    next_cursor = page["pagination"]["next_cursor"]`,

  PHP: (url, key) => `<?php
$next = '';
do {
    $curl = curl_init("${url}&next=$next");
    curl_setopt_array($curl, [
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ${key}'],
        CURLOPT_RETURNTRANSFER => true,
    ]);
    $page = json_decode(curl_exec($curl), true);
    foreach ($page['data'] as $job) echo $job['id'], ' ', $job['status'], PHP_EOL;
    $next = $page['pagination']['next_cursor'];
} while ($next !== null);`,

  Go: (url, key) => `package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

type page struct {
	Data       []struct{ ID, Status string }
	Pagination struct {
		NextCursor string \`json:"next_cursor"\`
	}
}

func get(next string) (got page, err error) {
	request, err := http.NewRequest("GET", "${url}&next="+next, nil)
	if err != nil {
		return got, err
	}
	request.Header.Set("Authorization", "Bearer ${key}")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	return got, json.NewDecoder(response.Body).Decode(&got)
}

func main() {
	for next, isFirst := "", true; isFirst || next != ""; isFirst = false {
		got, err := get(next)
		if err != nil {
			panic(err)
		}
		for _, job := range got.Data {
			fmt.Println(job.ID, job.Status)
		}
		next = got.Pagination.NextCursor
	}
}`,
};
