// H5Web as anyone would embed it: ?provider=grove|hsds&url=SERVER&file=NAME&token=TOKEN
import '@h5web/app/styles.css';

import { App, buildBasicAuthHeader, createBasicFetcher, H5GroveProvider, HsdsProvider } from '@h5web/app';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(location.search);
const [url, file] = [query.get('url'), query.get('file')];
const fetcher = createBasicFetcher({ headers: buildBasicAuthHeader('ann', query.get('token')) });

const page =
  query.get('provider') === 'hsds' ? (
    <HsdsProvider url={url} filepath={`/${file}`} fetcher={fetcher}>
      <App />
    </HsdsProvider>
  ) : (
    <H5GroveProvider url={`${url}/h5grove`} filepath={file} fetcher={fetcher}>
      <App />
    </H5GroveProvider>
  );

createRoot(document.getElementById('root')).render(page);
